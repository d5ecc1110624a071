"""Dialects of batch systems by the name a site file gives them."""

from windlass.schedulers.slurm import SLURM, Slurm

SCHEDULERS: dict[str, Slurm] = {"slurm": SLURM}
