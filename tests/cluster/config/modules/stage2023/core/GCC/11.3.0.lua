whatis("Description: GNU compilers of the stage")
family("compiler")
prepend_path("MODULEPATH", "@root@/modules/stage2023/gcc")
