"""COUNT FOLDER: so many commands as an array of jobs by submitit. Prints the seconds until all results are there."""

import sys
import time

import submitit

if __name__ == "__main__":
    count, folder = int(sys.argv[1]), sys.argv[2]
    executor = submitit.AutoExecutor(folder=folder, cluster="slurm")
    executor.update_parameters(timeout_min=5, cpus_per_task=1, mem_gb=0.1)
    began = time.perf_counter()
    with executor.batch():
        jobs = [executor.submit(submitit.helpers.CommandFunction(["/bin/true"])) for _ in range(count)]
    for job in jobs:
        job.result()
    print(time.perf_counter() - began)
