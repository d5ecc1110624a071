"""One limit that the user set, as plain values: it is kept with the run."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class OwnLimit:
    scope: str  # "run", "month" or "site"
    hours: float
    unit: str  # "gpu-hours", "core-hours", "node-hours" or "billing-hours"
