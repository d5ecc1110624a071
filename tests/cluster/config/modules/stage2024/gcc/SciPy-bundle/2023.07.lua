whatis("Description: numpy, scipy and pandas for Python")
whatis("Extensions: numpy-1.25.1, scipy-1.11.1, pandas-2.0.3, toml-0.10.2")
extensions("numpy/1.25.1, scipy/1.11.1, pandas/2.0.3")
