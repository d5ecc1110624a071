"""What was told of hours, and what is made of it: values of `windlass budget`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.core.facts import Balance
from windlass.core.spending.jobs import JobSpent

People = Mapping[str, Mapping[str, float]]  # account -> person -> hours in the site's unit


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the site told; what it did not tell is None or empty."""

    jobs: tuple[JobSpent, ...] = ()  # this user's own
    balances: tuple[Balance, ...] = ()
    people: People = field(default_factory=dict)  # since the same moment as the jobs
    recent: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (account, unit): of all, in the last days
    has_jobs: bool = True  # False: there is no accounting, and the jobs are what this laptop knows


@dataclass(frozen=True, kw_only=True)
class Window:
    since: float
    now: float
    days: float = 7.0  # over which the burn is taken


@dataclass(frozen=True, kw_only=True)
class RunUse:
    """One run, or all jobs together that are none of Windlass's (`run_id` None)."""

    run_id: str | None
    account: str | None = None
    used: float
    gpu_hours: float = 0.0
    core_hours: float = 0.0
    still: float | None = None  # at most; None: a job of it has no limit
    jobs: int = 0
    links_left: int = 0  # that wait
    is_live: bool = False
    wasted: float | None = None  # the share of its GPU hours in which the GPUs did nothing; None: nobody measured


@dataclass(frozen=True, kw_only=True)
class PersonUse:
    person: str
    account: str
    used: float


@dataclass(frozen=True, kw_only=True)
class AccountUse:
    account: str
    unit: str
    limit: float | None = None  # None: none is known
    used: float | None = None
    source: str = ""  # the command that told limit and use
    burn_per_day: float | None = None
    burn_of_all: bool = False  # of everybody in the account; False: of this user's jobs alone
    ends: float | None = None  # when nothing would be left at this rate; None: never, or nobody knows
    still: float | None = None  # at most, by this user's jobs that run and wait

    @property
    def left(self) -> float | None:
        return None if self.limit is None or self.used is None else self.limit - self.used

    @property
    def left_then(self) -> float | None:
        """If all that is queued ends at its limit."""
        return None if self.left is None or self.still is None else self.left - self.still


@dataclass(frozen=True, kw_only=True)
class Spending:
    site: str
    unit: str
    is_charged: bool
    since: float
    now: float
    days: float
    used: float  # by this user's jobs since then
    gpu_hours: float
    core_hours: float
    still: float | None  # at most; None: a job has no limit
    burn_per_day: float  # of this user's jobs
    wasted: float | None = None  # as of a run: of all GPU hours that were measured
    accounts: tuple[AccountUse, ...] = ()
    runs: tuple[RunUse, ...] = ()
    people: tuple[PersonUse, ...] = ()
    knows_jobs: bool = True
