whatis("Description: Open MPI of the stage")
family("mpi")
prepend_path("MODULEPATH", "@root@/modules/stage2024/mpi")
