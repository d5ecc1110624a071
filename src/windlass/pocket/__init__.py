"""Pocket: a Slurm for one machine, on which the scripts run that run on a real Slurm."""
