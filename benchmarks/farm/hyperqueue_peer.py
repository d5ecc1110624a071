"""COUNT SLOTS: so many tasks by HyperQueue, with its own server and one worker on this machine. Prints the seconds."""

import sys
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

count, slots = int(sys.argv[1]), int(sys.argv[2])
with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=slots))
    client = cluster.client()
    began = time.perf_counter()
    job = Job()
    for _ in range(count):
        job.program(["/bin/true"], stdout=None, stderr=None)
    client.wait_for_jobs([client.submit(job)])
    print(time.perf_counter() - began)
