help([[CUDA (not really)]])
whatis("Name: cuda"); whatis("Version: 12.2"); whatis("Description: CUDA toolkit")
setenv("CUDA_HOME", "/opt/cuda-12.2")
