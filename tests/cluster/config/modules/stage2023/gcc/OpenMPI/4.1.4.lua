whatis("Description: Open MPI of the stage")
family("mpi")
prepend_path("MODULEPATH", "@root@/modules/stage2023/mpi")
