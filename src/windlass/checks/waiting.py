"""Reservations and maintenance: jobs that Slurm takes and does not start."""

from collections.abc import Iterator
from datetime import timedelta

from windlass.core.case import Case
from windlass.core.facts import Reservation
from windlass.core.finding import Finding, Severity
from windlass.core.units import format_duration, format_human_duration

_MINUTE_S = 60
_WORTH_WHILE = timedelta(minutes=10)
_MAINTENANCE = "(ReqNodeNotAvail, Reserved for maintenance)"


def reservation_is_unknown(case: Case) -> Iterator[Finding]:
    """There is no reservation of this name: a slip, or it is over."""
    known, name = case.facts.reservations, case.plan.reservation
    if known is None or name is None or any(one.name == name for one in known):
        return
    names = ", ".join(sorted(one.name for one in known if not one.is_maintenance))
    yield Finding(
        code="C601",
        severity=Severity.ERROR,
        message=f"{case.site.name} has no reservation {name!r}; there are {names or 'none'}",
        hint="leave resources.reservation out, or correct it",
        fact="scontrol show reservation",
        refusal="Requested reservation is invalid",
    )


def reservation_is_not_yours(case: Case) -> Iterator[Finding]:
    """The reservation is for other users or accounts. Where it names both, a job must be of both."""
    found = _find_reservation(case)
    if found is None:
        return
    user, account = case.facts.user, case.plan.account
    wrong_user = user is not None and _is_left_out(user, found.users)
    wrong_account = account is not None and _is_left_out(account, found.accounts)
    if wrong_user or wrong_account:
        listed = found.users if wrong_user else found.accounts
        yield Finding(
            code="C602",
            severity=Severity.ERROR,
            message=f"reservation {found.name} is for {', '.join(listed)}; "
            + (f"you are {user}" if wrong_user else f"the account is {account}"),
            hint=f"--account {found.accounts[0]}" if wrong_account else "leave resources.reservation out",
            fact=f"scontrol show reservation {found.name}",
            refusal="Access denied to requested reservation",
        )


def reservation_does_not_last(case: Case) -> Iterator[Finding]:
    """The reservation has not begun, or ends before the job would: at its end Slurm stops what runs in it."""
    found, now = _find_reservation(case), case.now
    if found is None or now is None:
        return
    room = timedelta(seconds=max(0.0, found.ends - max(now, found.starts)))
    if case.plan.link_time > room:
        message = (
            f"reservation {found.name} has {_minutes(room)} left; one job asks for {_minutes(case.plan.link_time)}"
        )
    elif found.starts > now:
        message = f"reservation {found.name} begins in {_minutes(timedelta(seconds=found.starts - now))}; the job waits"
    else:
        return
    yield Finding(
        code="C603",
        severity=Severity.WARNING,
        message=message,
        hint=f'[resources] time = "{_minutes(min(room, case.plan.link_time))}"',
        fact=f"scontrol show reservation {found.name}",
    )


def maintenance_is_ahead(case: Case) -> Iterator[Finding]:
    """The job would reach into a maintenance window, so Slurm does not start it before the window ends.

    A shorter job could run before it: an error, since the machine would stand ready in vain; `windlass run --force`
    submits it all the same, and it waits. When no useful time is left before the window, it is a warning: whatever you
    ask for waits.
    """
    now = case.now
    if now is None or case.plan.reservation is not None:
        return
    for window in sorted(case.facts.reservations or (), key=lambda one: one.starts):
        if not window.is_maintenance or not _covers(window, case) or window.ends <= now:
            continue
        if now + case.plan.link_time.total_seconds() <= window.starts:
            continue
        yield _tell_maintenance(case, window, timedelta(seconds=max(0.0, window.starts - now)))
        return


def _tell_maintenance(case: Case, window: Reservation, before: timedelta) -> Finding:
    # A minute for being submitted, and Slurm counts whole ones.
    room = timedelta(seconds=max(0.0, before.total_seconds() - _MINUTE_S) // _MINUTE_S * _MINUTE_S)
    least = max(_WORTH_WHILE, case.site.rules.min_test_time or case.site.rules.min_job_time or _WORTH_WHILE)
    fits = room >= least
    lasts = timedelta(seconds=window.ends - window.starts)
    begins = f"begins in {_minutes(before)}" if before else "is going on"
    return Finding(
        code="C604",
        severity=Severity.ERROR if fits else Severity.WARNING,
        message=f"maintenance {window.name} {begins} and lasts {_minutes(lasts)}; a job of "
        f"{_minutes(case.plan.link_time)} does not start before it ends",
        hint=f'[resources] link_time = "{format_duration(room)}": the links after it wait; or `--force`, and all wait'
        if fits
        else "nothing to do: it starts when the maintenance is over",
        fact=f"scontrol show reservation {window.name}",
        refusal=_MAINTENANCE if fits else None,
    )


def _find_reservation(case: Case) -> Reservation | None:
    return next((one for one in case.facts.reservations or () if one.name == case.plan.reservation), None)


def _is_left_out(name: str, listed: tuple[str, ...]) -> bool:
    """A list with `-name` in it says who may not; names are compared as Slurm does."""
    if not listed:
        return False
    if any(one.startswith("-") for one in listed):
        return f"-{name}".lower() in {one.lower() for one in listed}
    return name.lower() not in {one.lower() for one in listed}


def _covers(window: Reservation, case: Case) -> bool:
    """No node of the partition is left outside it."""
    return window.all_nodes or (case.plan.partition is not None and case.plan.partition in window.partitions_covered)


def _minutes(duration: timedelta) -> str:
    return format_human_duration(timedelta(minutes=duration.total_seconds() // _MINUTE_S))
