whatis("Description: Tensors and networks on GPUs")
