"""How a user stands in an account, as Slurm's fair share counts it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FairShare:
    account: str
    factor: float  # 1: nothing was used, 0.5: as much as is due, 0: far more
