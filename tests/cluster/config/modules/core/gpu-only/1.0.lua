whatis("Description: cannot be loaded on a login node")
if not os.getenv("SLURM_JOB_ID") then LmodError("this module is for compute nodes") end
