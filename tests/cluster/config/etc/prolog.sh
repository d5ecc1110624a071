#!/bin/bash
# Run by root on every node of a job before it begins: node-local scratch, as many centres have it.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
scratch=/localscratch/$SLURM_JOB_USER.$SLURM_JOB_ID.0
install -d -m 700 -o "$SLURM_JOB_UID" "$scratch"
# Anything but 0 drains the node.
exit 0
