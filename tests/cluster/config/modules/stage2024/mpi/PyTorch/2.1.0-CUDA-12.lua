whatis("Description: Tensors and networks on GPUs")
extensions("torch/2.1.0, torchvision/0.16.0")
