"""What the run costs against what is left."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.facts import Balance
from windlass.core.finding import Finding, Severity
from windlass.core.placing.standing import Holder, count_resources, find_standing
from windlass.core.seen.balances import format_unit

_MUCH = 0.5
_MINUTES = {"cpu": "CPUMinutesLimit", "billing": "BillingMinutes", "node": "NodeMinutes", "gres/gpu": "GRESMinutes"}


def one_job_is_over_the_budget(case: Case) -> Iterator[Finding]:
    """One job alone could use more hours than are left, and Slurm keeps the account to its budget (GrpTRESMins).

    Slurm takes the job and never starts it, or stops it when nothing is left, as the site has set it.
    """
    for holder, name, limit in _list_budgets(case):
        cost = _count_hours(case, name)
        balance = _find_balance(case, format_unit(name))
        left = limit / 60 if balance is None or balance.left is None else min(balance.left, limit / 60)
        if cost is None or cost <= left:
            continue
        never = left <= 0 or case.facts.starts_only_what_is_paid
        yield Finding(
            code="C701",
            severity=Severity.ERROR,
            message=f"one job may use {cost:.0f} {format_unit(name)}; {holder.whose} has {max(0.0, left):.0f} left"
            + _until(case),
            hint="--account NAME: another one, or fewer nodes or less resources.link_time",
            fact=holder.fact,
            refusal=f"({holder.prefix}Grp{_MINUTES[name]})" if never else None,
        )
        return


def whole_run_is_over_the_budget(case: Case) -> Iterator[Finding]:
    """All jobs of the run together could use more than is left to the account; a run that ends early costs less."""
    balance, cost = _find_balance(case, case.plan.cost.unit), case.plan.cost
    if balance is None or balance.left is None or cost.whole <= balance.left:
        return
    if any(one_job_is_over_the_budget(case)):
        return
    links = int(max(0.0, balance.left) // cost.one_link) if cost.one_link else 0
    yield Finding(
        code="C702",
        severity=Severity.WARNING,
        message=f"the run may use {cost.whole:.0f} {cost.unit}; account {balance.account} has "
        f"{max(0.0, balance.left):.0f} left: enough for {links} of {case.plan.links} jobs" + _until(case),
        hint="--account NAME: another one, or fewer nodes or less resources.time",
        fact=balance.source or "the balance of the account",
    )


def run_takes_much_of_the_budget(case: Case) -> Iterator[Finding]:
    """The run could use more than half of what is left to the account, which others may share."""
    balance, cost = _find_balance(case, case.plan.cost.unit), case.plan.cost
    if balance is None or balance.left is None or not _MUCH * balance.left < cost.whole <= balance.left:
        return
    shared = f", which {case.site.accounting.shared_by} shares" if case.site.accounting.shared_by else ""
    yield Finding(
        code="C703",
        severity=Severity.WARNING,
        message=f"the run may use {cost.whole:.0f} {cost.unit}, {cost.whole / balance.left:.0%} of the "
        f"{balance.left:.0f} left to account {balance.account}{shared}" + _until(case),
        hint="try it with less first: `[resources] time`, fewer nodes",
        fact=balance.source or "the balance of the account",
    )


def _list_budgets(case: Case) -> Iterator[tuple[Holder, str, int]]:
    """Every limit of a group holds, not only the first."""
    for holder in find_standing(case.plan, case.facts).holders:
        yield from ((holder, name, limit) for name, limit in holder.group_minutes.items() if name in _MINUTES)


def _count_hours(case: Case, name: str) -> float | None:
    """At most, for one job; None where it is not known how the site counts."""
    hours = case.plan.link_time.total_seconds() / 3600
    if case.plan.cost.unit == format_unit(name):
        return case.plan.cost.one_link
    counted = count_resources(case.plan).get(name)
    return None if counted is None else counted * hours


def _find_balance(case: Case, unit: str) -> Balance | None:
    mine = find_standing(case.plan, case.facts).association
    account = case.plan.account or (mine.account if mine else None)
    return next((one for one in case.facts.balances or () if one.account == account and one.unit == unit), None)


def _until(case: Case) -> str:
    period = case.site.accounting.period
    return f" in this {period}" if period else ""
