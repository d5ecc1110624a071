"""Limits that the user sets: for one run, for the runs of a name in a month, for all jobs at a site."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windlass.core.names import make_slug
from windlass.core.run import Budget
from windlass.core.site import Accounting
from windlass.core.size import Size
from windlass.core.spending.amounts import format_amount
from windlass.core.spending.jobs import JobSpent, count_left_s, count_rate, count_used_s
from windlass.core.spending.limit import OwnLimit
from windlass.core.spending.periods import find_period_end, find_period_start

HOUR_S = 3_600.0
_MONTH = "month"


class Scope(StrEnum):
    """As the keys of [budget] are called."""

    RUN = "run"
    MONTH = "month"
    SITE = "site"


@dataclass(frozen=True, kw_only=True)
class OwnUse:
    """What counts under one limit, in its unit."""

    limit: OwnLimit
    used: float
    still: float | None = None  # at most, by jobs that run and wait; None: one of them has no limit of its own
    since: float
    until: float  # when it begins anew

    @property
    def is_used_up(self) -> bool:
        return self.used >= self.limit.hours

    @property
    def words(self) -> str:
        """As a reason: `budget.month of 500 GPU-h is used up (501.2)`."""
        used = format_amount(self.used, self.limit.unit)
        return f"budget.{self.limit.scope} of {format_amount(self.limit.hours, self.limit.unit)} is used up ({used})"


def list_limits(budget: Budget) -> tuple[OwnLimit, ...]:
    given = {Scope.RUN: budget.run, Scope.MONTH: budget.month, Scope.SITE: budget.site}
    return tuple(
        OwnLimit(scope=str(scope), hours=amount.hours, unit=amount.unit) for scope, amount in given.items() if amount
    )


def find_span(limit: OwnLimit, period: str | None, now: float) -> tuple[float, float]:
    """From when to when its hours are counted. Only of a month or a site: a run has no such span."""
    named = period if limit.scope == Scope.SITE and find_period_start(period, now) is not None else _MONTH
    return find_period_start(named, now) or 0.0, find_period_end(named or _MONTH, now)


def count_use(
    limit: OwnLimit, jobs: Iterable[JobSpent], *, name: str, accounting: Accounting, now: float
) -> OwnUse | None:
    """What this user's jobs have used under the limit of a month or a site; None where its unit cannot be counted."""
    since, until = find_span(limit, accounting.period, now)
    mine = [job for job in jobs if limit.scope == Scope.SITE or is_of_name(job.run_id, name)]
    used, still, is_bounded = 0.0, 0.0, True
    for job in mine:
        rate = count_rate(job.size, limit.unit, accounting)
        if rate is None:
            return None
        used += count_used_s(job, since=since, until=now) / HOUR_S * rate
        left = count_left_s(job)
        is_bounded = is_bounded and left is not None
        still += min(left or 0.0, (until - now) * max(1, job.tasks)) / HOUR_S * rate
    return OwnUse(limit=limit, used=used, still=still if is_bounded else None, since=since, until=until)


def is_of_name(run_id: str | None, name: str) -> bool:
    """By the run's id, which begins with the name: other laptops' runs count too."""
    return run_id is not None and run_id.rpartition("-")[0] == make_slug(name)


def count_allowed_s(limits: Sequence[OwnLimit], size: Size | None, accounting: Accounting) -> int | None:
    """How long the jobs of the run may last together by its own limit; None: nothing holds it, or nobody can count."""
    limit = find_limit(limits, Scope.RUN)
    rate = count_rate(size, limit.unit, accounting) if limit is not None and size is not None else None
    return int(limit.hours / rate * HOUR_S) if limit is not None and rate else None


def find_limit(limits: Sequence[OwnLimit], scope: Scope) -> OwnLimit | None:
    return next((one for one in limits if one.scope == scope), None)
