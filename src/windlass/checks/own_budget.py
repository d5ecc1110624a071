"""What the run could use against the limits that you set yourself."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.run import OverBudget
from windlass.core.spending.amounts import format_amount
from windlass.core.spending.jobs import count_rate
from windlass.core.spending.limit import OwnLimit
from windlass.core.spending.own import HOUR_S, OwnUse, Scope, find_limit

_OTHERS = {Scope.MONTH: "runs of this name", Scope.SITE: "your jobs there"}


def run_could_pass_your_limit(case: Case) -> Iterator[Finding]:
    """The run could use more hours than `[budget]` of your windlass.toml or config.toml leaves to it.

    All its links count at their full length; a run that ends early uses less. With `over = "warn"` it is sent all the
    same, and stops by itself, with its work saved, when `budget.run` is used up.
    """
    limit = find_limit(case.plan.limits, Scope.RUN)
    if limit is not None:
        yield from _judge_run(case, limit)
    for use in case.own_use or ():
        if not use.is_used_up:
            yield from _judge_use(case, use)


def your_limit_is_used_up(case: Case) -> Iterator[Finding]:
    """What `[budget]` allows for this month, or for this site, is used up: a run would be stopped as soon as it starts.

    `windlass budget` shows by what. Raise the limit, wait until it begins anew, or submit with --force: then it is
    stopped all the same by the next command that looks at it.
    """
    for use in case.own_use or ():
        if use.is_used_up:
            yield Finding(
                code="C705",
                severity=Severity.ERROR,
                message=f"{use.words} by {_OTHERS[Scope(use.limit.scope)]}",
                hint=f"raise budget.{use.limit.scope}; windlass budget --on {case.site.name} shows what used it",
                fact=f"sacct, and budget.{use.limit.scope}",
            )


def your_limit_cannot_be_counted(case: Case) -> Iterator[Finding]:
    """`[budget]` counts in a unit that is not known for this run, so that nothing is kept to that limit.

    Billing hours need a site whose partitions have weights, and accounting must answer for the limits of a month or a
    site. GPU-h, core-h and node-h are known of every run.
    """
    rate_of = {limit: _find_rate(case, limit) for limit in case.plan.limits}
    uncounted = [limit for limit, rate in rate_of.items() if rate is None]
    if case.own_use is None:
        uncounted += [limit for limit in case.plan.limits if limit.scope != Scope.RUN and limit not in uncounted]
    for limit in uncounted:
        yield Finding(
            code="C706",
            severity=Severity.WARNING,
            message=f"{_name(limit)}, which cannot be counted at {case.site.name}: the run is not kept to it",
            hint='write it in "GPU-h" or "core-h"' if rate_of[limit] is None else "windlass site check tells why",
            fact=f"budget.{limit.scope}",
        )


def _judge_run(case: Case, limit: OwnLimit) -> Iterator[Finding]:
    rate = _find_rate(case, limit)
    one_link = case.plan.link_time.total_seconds() / HOUR_S * (rate or 0.0)
    if one_link * case.plan.links <= limit.hours:
        return
    enough = int(limit.hours // one_link)
    yield _make_finding(
        case,
        limit,
        f"the run may use {_show(one_link * case.plan.links, limit)}; {_name(limit)}: "
        f"enough for {enough} of {case.plan.links} links",
    )


def _judge_use(case: Case, use: OwnUse) -> Iterator[Finding]:
    """In the span of the limit it can use no more than fits into what is left of that time."""
    rate = _find_rate(case, use.limit)
    if rate is None or case.now is None:
        return
    whole_s = case.plan.link_time.total_seconds() * case.plan.links
    could = min(whole_s, max(0.0, use.until - case.now)) / HOUR_S * rate
    others = use.still or 0.0
    if use.used + others + could <= use.limit.hours:
        return
    queued = f" and {_show(others, use.limit)} still to come" if others else ""
    yield _make_finding(
        case,
        use.limit,
        f"the run may use {_show(could, use.limit)}; {_name(use.limit)}, of which "
        f"{_OTHERS[Scope(use.limit.scope)]} have {_show(use.used, use.limit)} behind them{queued}",
    )


def _make_finding(case: Case, limit: OwnLimit, message: str) -> Finding:
    is_refused = case.spec.budget.over is OverBudget.REFUSE
    return Finding(
        code="C704",
        severity=Severity.ERROR if is_refused else Severity.WARNING,
        message=message,
        hint="take less: fewer nodes, less resources.time; or raise "
        + f"budget.{limit.scope}"
        + ('; budget.over = "warn" sends it all the same, to be stopped at the limit' if is_refused else ""),
        fact=f"budget.{limit.scope}",
    )


def _find_rate(case: Case, limit: OwnLimit) -> float | None:
    size = case.plan.size
    return None if size is None else count_rate(size, limit.unit, case.site.accounting)


def _name(limit: OwnLimit) -> str:
    return f"budget.{limit.scope} is {format_amount(limit.hours, limit.unit)}"


def _show(hours: float, limit: OwnLimit) -> str:
    return format_amount(hours, limit.unit)
