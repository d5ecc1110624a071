"""Everything a diagnosis may look at after a run ended."""

from dataclasses import dataclass

from windlass.core.record import RunRecord


@dataclass(frozen=True, kw_only=True)
class Symptoms:
    record: RunRecord
    log_tail: str = ""  # of the newest log
