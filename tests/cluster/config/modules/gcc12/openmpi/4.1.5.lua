whatis("Name: openmpi"); whatis("Version: 4.1.5"); whatis("Description: Open MPI, seen only under gcc/12.3")
family("mpi")
setenv("EBROOTOPENMPI", "/opt/openmpi-4.1.5")
