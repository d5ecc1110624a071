"""Everything a diagnosis may look at after a run ended."""

from dataclasses import dataclass

from windlass.core.record import RunRecord


@dataclass(frozen=True, kw_only=True)
class Symptoms:
    record: RunRecord
    log_tail: str = ""  # of the newest log
    waiting_words: str = ""  # the batch system's reason in plain words, of a run that waits
    waiting_hint: str | None = None
