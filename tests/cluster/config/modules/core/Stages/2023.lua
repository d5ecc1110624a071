whatis("Name: Stages"); whatis("Version: 2023"); whatis("Description: The software of the year 2023")
add_property("lmod", "sticky")
prepend_path("MODULEPATH", "@root@/modules/stage2023/core")
