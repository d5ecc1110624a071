"""`windlass budget`: what was used, by run and person, what is left, when it ends, and what may still be used."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from windlass.core.facts import Balance
from windlass.core.site import Accounting, CostUnit
from windlass.core.spending.jobs import JobSpent, count_left_s, count_rate, count_used_s
from windlass.core.spending.uses import AccountUse, PersonUse, RunUse, Spending, Told, Window

DAY_S = 86_400.0
HOUR_S = 3_600.0
_LONGEST_S = 100 * 365 * DAY_S  # an end further away than that is none
_NOTHING: Mapping[str, float] = MappingProxyType({})
_NO_FARMS: Mapping[str, str] = MappingProxyType({})


def make_spending(
    site: str,
    accounting: Accounting,
    told: Told,
    window: Window,
    *,
    wasted: Mapping[str, float] = _NOTHING,
    farms: Mapping[str, str] = _NO_FARMS,
) -> Spending:
    """wasted: by run, as `RunUse` has it. farms: of pilots, the run that leads their farm and is listed for all."""
    unit = choose_unit(accounting, told.balances, told.jobs)
    count = _Counter(accounting=accounting, unit=unit, window=window)
    jobs = [job for job in told.jobs if job.is_live or count.seconds(job)]
    runs = _make_runs(jobs, count, wasted, farms)
    return Spending(
        site=site,
        unit=unit,
        is_charged=accounting.unit not in (CostUnit.NONE, CostUnit.UNKNOWN) or bool(told.balances),
        since=window.since,
        now=window.now,
        days=window.days,
        used=sum(map(count.used, jobs)),
        gpu_hours=sum(map(count.gpu_hours, jobs)),
        core_hours=sum(map(count.core_hours, jobs)),
        still=_add(one.still for one in runs),
        burn_per_day=sum(map(count.recent, told.jobs)) / window.days,
        wasted=_share_wasted(jobs, count, wasted),
        accounts=_make_accounts(told, count),
        runs=runs,
        people=tuple(
            PersonUse(person=person, account=account, used=used)
            for account, people in sorted(told.people.items())
            for person, used in sorted(people.items(), key=lambda one: (-one[1], one[0]))
        ),
        knows_jobs=told.has_jobs,
    )


def choose_unit(accounting: Accounting, balances: Sequence[Balance], jobs: Sequence[JobSpent]) -> str:
    """The site's; where it names none, that of a budget Slurm keeps; else GPUs, where some were used, or cores."""
    if accounting.unit not in (CostUnit.NONE, CostUnit.UNKNOWN):
        return str(accounting.unit)
    by_use = str(CostUnit.GPU_HOURS if any(job.size.gpus for job in jobs) else CostUnit.CORE_HOURS)
    limited = _list_limited(balances)
    return by_use if by_use in limited or not limited else limited[0]


def _list_limited(balances: Sequence[Balance]) -> list[str]:
    """Units of budgets that can be counted."""
    known = {str(one) for one in CostUnit}
    return list(dict.fromkeys(one.unit for one in balances if one.limit is not None and one.unit in known))


def find_end(left: float | None, burn_per_day: float | None, now: float) -> float | None:
    """When nothing is left at this rate; now, where nothing is left already."""
    if left is None or not burn_per_day:
        return None
    seconds = max(0.0, left) / burn_per_day * DAY_S
    return now + seconds if seconds < _LONGEST_S else None


@dataclass(frozen=True, kw_only=True)
class _Counter:
    accounting: Accounting
    unit: str
    window: Window

    def rate(self, job: JobSpent) -> float:
        return count_rate(job.size, self.unit, self.accounting) or 0.0

    def seconds(self, job: JobSpent) -> float:
        return count_used_s(job, since=self.window.since, until=self.window.now)

    def used(self, job: JobSpent) -> float:
        return self.seconds(job) / HOUR_S * self.rate(job)

    def gpu_hours(self, job: JobSpent) -> float:
        return self.seconds(job) / HOUR_S * job.size.gpus

    def core_hours(self, job: JobSpent) -> float:
        return self.seconds(job) / HOUR_S * job.size.cores

    def recent(self, job: JobSpent) -> float:
        since = self.window.now - self.window.days * DAY_S
        return count_used_s(job, since=since, until=self.window.now) / HOUR_S * self.rate(job)

    def still(self, job: JobSpent) -> float | None:
        left = count_left_s(job)
        return None if left is None else left / HOUR_S * self.rate(job)


def _make_runs(
    jobs: Sequence[JobSpent], count: _Counter, wasted: Mapping[str, float], farms: Mapping[str, str]
) -> tuple[RunUse, ...]:
    """The largest first; what is none of ours last."""
    by_run = _group(jobs, lambda job: farms.get(job.run_id or "", job.run_id or ""))
    found = [
        RunUse(
            run_id=run_id or None,
            account=next((job.account for job in mine if job.account), None),
            used=sum(map(count.used, mine)),
            gpu_hours=sum(map(count.gpu_hours, mine)),
            core_hours=sum(map(count.core_hours, mine)),
            still=_add(map(count.still, mine)),
            jobs=sum(job.tasks for job in mine),
            links_left=sum(job.links_left for job in mine),
            is_live=any(job.is_live for job in mine),
            wasted=_share_wasted(mine, count, wasted),
        )
        for run_id, mine in by_run.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.run_id is None, -one.used, one.run_id or "")))


def _make_accounts(told: Told, count: _Counter) -> tuple[AccountUse, ...]:
    """In the site's unit, and in every other that an account has a limit in."""
    by_account = _group(told.jobs, lambda job: job.account or "")
    balances = {(one.account, one.unit): one for one in reversed(told.balances)}
    limited = {
        (one.account, unit) for unit in _list_limited(told.balances) for one in told.balances if one.unit == unit
    }
    main = {(name, count.unit) for name in {*by_account, *(one.account for one in told.balances)} if name}
    pairs = sorted(main | limited, key=lambda pair: (pair[0], pair[1] != count.unit, pair[1]))
    return tuple(
        _make_account(
            name,
            balances.get((name, unit)),
            by_account.get(name, []),
            told.recent.get((name, unit)),
            replace(count, unit=unit),
        )
        for name, unit in pairs
    )


def _make_account(
    name: str, balance: Balance | None, jobs: Sequence[JobSpent], of_all: float | None, count: _Counter
) -> AccountUse:
    """of_all: what everybody in the account has used in the last days; None: nobody told."""
    recent = sum(map(count.recent, jobs)) if of_all is None else of_all
    burn = recent / count.window.days
    return AccountUse(
        account=name,
        unit=count.unit,
        limit=balance.limit if balance else None,
        used=balance.used if balance else None,
        source=balance.source if balance else "",
        burn_per_day=burn,
        burn_of_all=of_all is not None,
        ends=find_end(balance.left if balance else None, burn, count.window.now),
        still=_add(map(count.still, jobs)),
    )


def _share_wasted(jobs: Sequence[JobSpent], count: _Counter, wasted: Mapping[str, float]) -> float | None:
    """Of the GPU hours of the runs that were measured."""
    measured = [
        (count.seconds(job) * job.size.gpus, wasted[job.run_id]) for job in jobs if job.run_id and job.run_id in wasted
    ]
    whole = sum(seconds for seconds, _ in measured)
    return sum(seconds * share for seconds, share in measured) / whole if whole else None


def _group(jobs: Iterable[JobSpent], key: Callable[[JobSpent], str]) -> dict[str, list[JobSpent]]:
    found: dict[str, list[JobSpent]] = defaultdict(list)
    for job in jobs:
        found[key(job)].append(job)
    return dict(found)


def _add(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(one for one in known if one is not None)
