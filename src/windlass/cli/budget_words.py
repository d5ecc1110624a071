"""Hours as people read them: accounts, runs, people and limits of one's own."""

from collections.abc import Iterator
from datetime import datetime

from windlass.app.budgets.spending import Budgets, LimitUse
from windlass.cli.output import Output
from windlass.core.spending.amounts import format_amount, format_hours, format_unit
from windlass.core.spending.uses import AccountUse, Spending

_BAR = 20
_RUNS_HEAD = ("RUN", "USED", "SHARE", "STILL AT MOST", "LINKS LEFT", "ACCOUNT")
_PEOPLE_HEAD = ("PERSON", "USED", "SHARE", "ACCOUNT")
_LIMITS_HEAD = ("YOUR LIMIT", "OF", "USED", "LIMIT", "")
_DAY_S = 86_400


def show_budgets(output: Output, found: Budgets) -> None:
    spending = found.spending
    for name, words in _describe(spending):
        output.show_words(f"{name:<10} {words}")
    if spending.runs:
        output.show("")
        output.show_table(_RUNS_HEAD, list(_make_runs(spending)))
    if spending.people:
        output.show("")
        output.show_table(_PEOPLE_HEAD, list(_make_people(spending)))
    if found.limits:
        output.show("")
        output.show_table(_LIMITS_HEAD, [_make_limit(one) for one in found.limits])
    if not spending.knows_jobs:
        output.tell(f"note: {spending.site} keeps no accounting: this is what this laptop knows of its own runs")


def format_bar(share: float, *, width: int = _BAR) -> str:
    """`[######--------------]`; full where it is over."""
    filled = min(width, max(0, round(share * width)))
    return f"[{'#' * filled}{'-' * (width - filled)}]"


def format_day(moment: float) -> str:
    there = datetime.fromtimestamp(moment).astimezone()
    return f"{there:%d %b %Y}".lstrip("0")


def _describe(spending: Spending) -> Iterator[tuple[str, str]]:
    for one in spending.accounts:
        yield "account", _describe_account(one)
        if one.limit is not None or one.burn_per_day:
            yield "", _describe_burn(one, spending)
    if not spending.is_charged:
        yield "cost", f"nothing is charged at {spending.site}; hours are counted all the same"
    yours = format_amount(spending.used, spending.unit)
    more = [
        f"{format_hours(hours)} {unit}"
        for hours, unit in ((spending.gpu_hours, "GPU-h"), (spending.core_hours, "core-h"))
        if unit != format_unit(spending.unit) and hours
    ]
    yield "yours", f"{yours} since {format_day(spending.since)}{_in_brackets(', '.join(more))}"
    yield "still", _describe_still(spending)
    if spending.gpu_hours or spending.wasted is not None:
        yield "wasted", _describe_wasted(spending)


def _describe_account(one: AccountUse) -> str:
    if one.limit is None:
        told = f"{format_amount(one.used, one.unit)} used; " if one.used is not None else ""
        return f"{one.account}: {told}no limit is known"
    used, left = one.used or 0.0, one.left or 0.0
    bar = format_bar(used / one.limit if one.limit else 1.0)
    words = f"{format_hours(used)} of {format_amount(one.limit, one.unit)} used, {format_hours(left)} left"
    return f"{one.account}: {bar} {words}{_in_brackets(one.source.split(' ')[0])}"


def _describe_burn(one: AccountUse, spending: Spending) -> str:
    whose = "by all in the account" if one.burn_of_all else "by your jobs alone"
    burn = f"{format_amount(one.burn_per_day or 0.0, one.unit)} a day over the last {spending.days:.0f} days, {whose}"
    if one.left is not None and one.left <= 0:
        end = "; nothing is left"
    elif one.ends is not None:
        days = max(0, int((one.ends - spending.now) // _DAY_S))
        end = f"; at this rate it ends on {format_day(one.ends)} (in {days} days)"
    else:
        end = ""
    then = ""
    if one.left_then is not None and one.still:
        then = f"; {format_hours(one.left_then)} would be left if all that is queued ends at its limit"
    return burn + end + then


def _describe_still(spending: Spending) -> str:
    if spending.still is None:
        return "unknown: a job of yours has no time limit"
    if not spending.still:
        return "nothing of yours runs or waits"
    return f"at most {format_amount(spending.still, spending.unit)} by what runs and waits"


def _describe_wasted(spending: Spending) -> str:
    if spending.wasted is None:
        return "unknown: how busy the GPUs were was not measured"
    return f"{spending.wasted:.0%} of the GPU hours that were measured, by GPUs that did nothing"


def _make_runs(spending: Spending) -> Iterator[tuple[str, ...]]:
    whole = sum(one.used for one in spending.runs)
    for one in spending.runs:
        still = "" if not one.is_live else "unknown" if one.still is None else format_hours(one.still)
        yield (
            one.run_id or f"({one.jobs} other job{'' if one.jobs == 1 else 's'})",
            format_amount(one.used, spending.unit),
            _format_share(one.used, whole),
            still,
            str(one.links_left) if one.links_left else "",
            one.account or "",
        )


def _make_people(spending: Spending) -> Iterator[tuple[str, ...]]:
    whole: dict[str, float] = {}
    for one in spending.people:
        whole[one.account] = whole.get(one.account, 0.0) + one.used
    for one in spending.people:
        used = format_amount(one.used, spending.unit)
        yield one.person, used, _format_share(one.used, whole[one.account]), one.account


def _make_limit(one: LimitUse) -> tuple[str, ...]:
    used = format_hours(one.used)
    return f"budget.{one.scope}", one.of, used, str(one.limit), format_bar(one.used / one.limit.hours)


def _format_share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
