"""What a job occupies while it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Size:
    """As the site counts it."""

    nodes: int
    cores: int  # of all nodes; whole nodes count whole
    gpus: int
    billing: float = 0.0  # by Slurm's own weights
