"""One entry of the queue as Slurm tells it, and the states in plain words."""

from dataclasses import dataclass
from enum import StrEnum


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    ENDING = "ending"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    NODE_FAILED = "node failed"
    PREEMPTED = "preempted"
    REQUEUED = "requeued"  # an earlier life of a job that runs again
    SUSPENDED = "suspended"
    UNKNOWN = "unknown"  # a word we do not know: shown as it is

    @property
    def is_final(self) -> bool:
        return self in _FINAL

    @property
    def is_live(self) -> bool:
        return self in _LIVE


_LIVE = frozenset({JobState.WAITING, JobState.RUNNING, JobState.ENDING, JobState.SUSPENDED})
_FINAL = frozenset(
    {
        JobState.DONE,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.TIMED_OUT,
        JobState.OUT_OF_MEMORY,
        JobState.NODE_FAILED,
        JobState.PREEMPTED,
    }
)


@dataclass(frozen=True, kw_only=True)
class JobSeen:
    """One job, or one task of an array, in one answer of Slurm's."""

    job_id: str  # "45", "45_1", "45_[2-5%1]", "58+0": as Slurm writes it
    raw_id: str | None = None
    array_id: str | None = None
    task: int | None = None  # None for a whole array that waits
    state: JobState
    word: str  # Slurm's own
    reason: str | None = None
    token: str | None = None  # from the comment; "" when the site keeps none
    name: str | None = None
    submitted: float | None = None  # seconds since 1970
    started: float | None = None
    ended: float | None = None
    expected_start: float | None = None
    elapsed_s: int | None = None
    limit_s: int | None = None
    nodes: str | None = None  # folded host list
    node_count: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0
    past: tuple[JobState, ...] = ()  # how its earlier lives ended, where the history tells
    cancelled_by: int | None = None  # the number of the user who did it
    partition: str | None = None

    @property
    def base_id(self) -> str:
        """The number sbatch answered: of the array for a task of one."""
        return self.array_id or self.job_id.split("_")[0].split("+")[0]
