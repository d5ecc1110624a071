"""Everything a check may look at before a submission."""

from dataclasses import dataclass

from windlass.core.facts import Facts
from windlass.core.plan import Plan
from windlass.core.run import RunSpec
from windlass.core.site import Site


@dataclass(frozen=True, kw_only=True)
class Case:
    spec: RunSpec
    plan: Plan
    site: Site
    facts: Facts
    snapshot_mb: float | None = None  # what is about to be sent
    snapshot_files: int | None = None
