whatis("Name: Stages"); whatis("Version: 2024"); whatis("Description: The software of the year 2024")
add_property("lmod", "sticky")
prepend_path("MODULEPATH", "@root@/modules/stage2024/core")
