help([[GNU compilers (not really)]])
whatis("Name: gcc"); whatis("Version: 13.3"); whatis("Description: GNU compiler collection")
family("compiler")
setenv("EBROOTGCC", "/usr")
