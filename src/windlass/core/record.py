"""What is known about one run: the row of `windlass ps`, kept by the store and rebuilt from the site."""

from dataclasses import dataclass
from enum import StrEnum

from windlass.core.farm.kinds import TaskKind, list_commands_of_failed, tell_how_to_resume
from windlass.core.notes import Note
from windlass.core.size import Size
from windlass.core.spending.limit import OwnLimit
from windlass.core.units import format_seconds


class RunState(StrEnum):
    SUBMITTING = "submitting"  # intent written, answer not yet known
    NOT_SUBMITTED = "not submitted"  # known for certain
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUT_OF_TIME = "out of time"  # all links used, not finished: resume goes on
    OUT_OF_BUDGET = "out of budget"  # a limit of the user's is used up: resume with a higher one goes on
    LOST = "lost"  # Slurm has forgotten the job, and it left no result

    @property
    def is_final(self) -> bool:
        return self not in (RunState.SUBMITTING, RunState.WAITING, RunState.RUNNING)

    @property
    def said_of_a_run(self) -> str:
        """As a sentence about it goes on: "line-k3f9w failed", "line-k3f9w is done"."""
        return self.value if self is RunState.FAILED else f"is {self.value}"


LIVE = tuple(state for state in RunState if not state.is_final)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """One sbatch of a run. The job number alone is never believed: the token decides."""

    number: int
    token: str
    job_id: str | None = None
    first_link: int = 1
    links: int = 1
    after: int | None = None  # of a chain by dependency: the submission whose end it waits for
    sent: float | None = None  # when; None: a run of before this was kept, or its job sent it


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
    link_s: float | None = None  # how long one link may last
    notice_s: float | None = None  # how much of that is kept for saving
    progress_done: float | None = None  # epochs or steps, as the training tells
    progress_of: float | None = None
    progress_unit: str | None = None
    expected_end: float | None = None  # by the measured pace; waits between links are not in it
    links_needed: int | None = None  # after this one, by the measured pace; None: not known
    modules: tuple[str, ...] = ()  # what was really loaded in the job that ran last, with versions
    size: Size | None = None  # of one job
    limits: tuple[OwnLimit, ...] = ()  # that the user set for it
    spent_s: float | None = None  # how long its jobs have run together, as far as the agent told
    over_budget: str | None = None  # it was stopped from here, because a limit is used up: which
    stop_asked: float | None = None  # when it was stopped so, or cancelled because it had not stopped
    link_started: float | None = None  # of the link that runs or ran last
    saved: float | None = None  # when something of its training was saved last, as far as the agent sees it
    tasks_failed: int | None = None  # of the farm that it works on, as far as its pilot knew
    tasks_stopped: int | None = None  # of the same: trials that were hopeless, tasks that were not wanted any more
    farm: str | None = None  # whose tasks it runs: the run whose folder holds them, which may be this one
    task_kind: TaskKind | None = None  # of that farm's tasks
    interrupted: str | None = None  # what ended an earlier link before its time: "link 2: preempted"
    notes: tuple[Note, ...] = ()  # what somebody wrote about it, the oldest first

    @property
    def leads_farm(self) -> bool:
        """It is listed for the whole farm."""
        return self.farm == self.run_id

    @property
    def again(self) -> str:
        """What goes on with it, or with all of the farm that it works on."""
        if self.farm is not None:
            return tell_how_to_resume(self.task_kind, self.farm)
        return f"windlass resume {self.run_id}"

    @property
    def command_of_failed(self) -> str:
        """Of a farm: what to do about tasks that failed, in one line."""
        is_closed = self.state is RunState.CANCELLED
        return list_commands_of_failed(self.task_kind, self.farm or self.run_id, is_closed=is_closed)[-1]

    @property
    def root(self) -> str:
        """The site's root this run lies under."""
        return self.folder.rsplit("/", 2)[0]

    @property
    def ran_for(self) -> str | None:
        """How long until its end: of several links what they ran together, without waits and rests between them."""
        if self.started is None or self.ended is None:
            return None
        if (self.link or 0) > 1 and self.spent_s:
            return f"{format_seconds(self.spent_s)} of running"
        return format_seconds(max(0.0, self.ended - self.started))

    @property
    def missing_links(self) -> int:
        """How many more than are planned the work that is left needs, by its pace."""
        left = self.links - (self.link or 0)
        return max(0, (self.links_needed or 0) - left)

    @property
    def chain(self) -> tuple[Submission, ...]:
        """What was sent together last: one array or job, or the links of a chain by dependency."""
        start = len(self.submissions) - 1
        while start > 0 and self.submissions[start].after is not None:
            start -= 1
        return self.submissions[max(0, start) :]

    @property
    def current(self) -> Submission | None:
        """The submission that holds the link that runs or ran last, among those that Slurm took."""
        taken = [one for one in self.chain if one.job_id is not None]
        begun = [one for one in taken if one.first_link <= (self.link or 0)]
        return begun[-1] if begun else taken[0] if taken else None

    @property
    def job_id(self) -> str | None:
        return self.current.job_id if self.current else None

    @property
    def job_ids(self) -> tuple[str, ...]:
        """All that may still be in the queue."""
        return tuple(one.job_id for one in self.chain if one.job_id is not None)
