whatis("Description: Training loops for PyTorch")
