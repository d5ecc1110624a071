help([[PyTorch (not really)]])
whatis("Name: pytorch"); whatis("Version: 2.3"); whatis("Description: PyTorch for GPUs")
depends_on("gcc/12.3", "python/3.11")
setenv("EBROOTPYTORCH", "/opt/pytorch-2.3")
