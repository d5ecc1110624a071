#!/bin/bash
# Run by root on every node of a job after its end.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
rm -rf --one-file-system "/localscratch/$SLURM_JOB_USER.$SLURM_JOB_ID.0"
exit 0
