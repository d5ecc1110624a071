"""Slurm's dialect: pairs of *make the command* and *read its answer*. Text in, text out, no I/O."""

from windlass.schedulers.slurm.dialect import SLURM, Slurm

__all__ = ["SLURM", "Slurm"]
