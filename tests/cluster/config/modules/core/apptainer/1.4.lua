help([[Apptainer, unprivileged]])
whatis("Name: apptainer"); whatis("Version: 1.4"); whatis("Description: containers")
prepend_path("PATH", "@apptainer@/usr/bin")
append_path("PATH", "/usr/sbin")
