help([[Python (the system's)]])
whatis("Name: python"); whatis("Version: 3.11"); whatis("Description: Python interpreter")
setenv("EBROOTPYTHON", "/usr")
prepend_path("PATH", "/usr/bin")
