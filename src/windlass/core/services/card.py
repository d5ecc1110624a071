"""What a service in a job tells of itself, as the laptop reads it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Card:
    """`service/card.json` of a run folder; see `windlass_job/serving/card.py`."""

    kind: str
    state: str  # starting, ready, failed; idle: ended because nobody used it; ended
    node: str = ""
    job: str = ""
    port: int | None = None
    host: str = ""  # where others reach it; empty: on its node alone
    warning: str = ""
    problem: str = ""
    program: str = ""  # the Python of the environment
    idle_after_s: float | None = None
    deadline: float | None = None  # when its job ends at the latest
    cell: int | None = None  # of a notebook that is executed: the last that was begun, counted from 1
    traceback: tuple[str, ...] = ()  # of the cell that failed

    @property
    def is_over(self) -> bool:
        return self.state in ("failed", "idle", "ended")
