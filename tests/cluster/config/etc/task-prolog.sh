#!/bin/bash
# Run by the user before the batch script and every task: what it prints becomes their environment.
echo "export SLURM_TMPDIR=/localscratch/$SLURM_JOB_USER.$SLURM_JOB_ID.0"
