"""What is known about one run: the row of `windlass ps`, kept by the store and rebuilt from the site."""

from dataclasses import dataclass
from enum import StrEnum


class RunState(StrEnum):
    SUBMITTING = "submitting"  # intent written, answer not yet known
    NOT_SUBMITTED = "not submitted"  # known for certain
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUT_OF_TIME = "out of time"  # all links used, not finished: resume goes on
    LOST = "lost"  # Slurm has forgotten the job, and it left no result

    @property
    def is_final(self) -> bool:
        return self not in (RunState.SUBMITTING, RunState.WAITING, RunState.RUNNING)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One sbatch of a run. The job number alone is never believed: the token decides."""

    number: int
    token: str
    job_id: str | None = None
    first_link: int = 1
    links: int = 1


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Plain values only, so that it can be stored and sent as JSON."""

    run_id: str
    name: str
    site: str
    folder: str
    command: str
    state: RunState
    created: float  # seconds since 1970
    updated: float
    project: str | None = None  # the folder on the laptop it came from
    submissions: tuple[Submission, ...] = ()
    link: int | None = None  # the one running or last run
    links: int = 1
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    reason: str | None = None  # Slurm's reason while waiting, or why it ended
    nodes: str | None = None
    expected_start: float | None = None
    commit: str | None = None
    results: tuple[str, ...] = ()
    workdir: str = "."

    @property
    def root(self) -> str:
        """The site's root this run lies under."""
        return self.folder.rsplit("/", 2)[0]

    @property
    def job_id(self) -> str | None:
        return self.submissions[-1].job_id if self.submissions else None
