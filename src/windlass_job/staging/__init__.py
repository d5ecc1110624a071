"""The data of a run brought to its nodes: into memory or onto their own disks, while the command already runs.

The agent decides (`directing`, `choosing`); on every node a keeper (`keeping`) does it, brings results back, and cleans
up. Never the reason why a job dies: what cannot be copied is read where it lies.
"""
