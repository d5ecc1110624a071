"""How long one job may be, and how long it should."""

from collections.abc import Iterator
from datetime import timedelta

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.placing.standing import choose_refusal, find_place, find_standing, name_command
from windlass.core.units import format_duration, format_exact_duration

_SHORTEST_LINK = timedelta(minutes=5)
_LITTLE_OVER = 1.25
_WORD = "MaxWallDurationPerJobLimit"


def time_is_over_the_limit(case: Case) -> Iterator[Finding]:
    """One job asks for more time than its partition gives.

    Some sites refuse it; others take the job and never start it. The run becomes a chain of shorter jobs where no
    partition is named.
    """
    seen, written = find_place(case.plan, case.facts), case.site.partition(case.plan.partition or "")
    limit = seen.max_time if seen is not None else written.max_time if written is not None else None
    if limit is None or case.plan.link_time <= limit:
        return
    name = seen.name if seen is not None else case.plan.partition
    refusal = choose_refusal(
        case.facts,
        refused="Requested time limit is invalid (missing or exceeds some limit)",
        waits="PartitionTimeLimit",
    )
    yield Finding(
        code="C202",
        severity=Severity.ERROR,
        message=f"one job asks for {format_exact_duration(case.plan.link_time)}; "
        f"{name} gives at most {format_exact_duration(limit)}",
        hint=f'[resources] link_time = "{format_duration(limit)}"',
        fact=name_command(case.plan, "scontrol show partition @") if seen else f"partition.{name} of {case.site.name}",
        refusal=refusal if seen else None,
    )


def time_is_missing(case: Case) -> Iterator[Finding]:
    """No time was given, so a default was taken. Too short and it is cut, too long and it waits for nothing."""
    if case.spec.resources.time is None and not case.site.is_local:
        yield Finding(
            code="C203",
            severity=Severity.WARNING,
            message=f"no time was given; {format_exact_duration(case.plan.total_time)} was taken",
            hint='[resources] time = "12h"',
            fact="resources.time of the run file",
        )


def links_are_very_short(case: Case) -> Iterator[Finding]:
    """Each link waits in the queue, starts and loads again, and Slurm counts time in whole minutes."""
    if case.plan.links > 1 and case.plan.link_time < _SHORTEST_LINK and not case.site.rules.cuts_to_fit:
        yield Finding(
            code="C209",
            severity=Severity.WARNING,
            message=f"the run is cut into {case.plan.links} jobs of {format_exact_duration(case.plan.link_time)}",
            hint="leave resources.link_time out, or make it hours",
            fact="the links of the plan",
        )


def time_is_over_the_account_or_qos(case: Case) -> Iterator[Finding]:
    """One job asks for more time than its QOS or its account gives (MaxWall).

    Mostly Slurm takes it and never starts it. Of the partition's QOS, the job's QOS and the account, the first that
    sets a limit decides.
    """
    standing = find_standing(case.plan, case.facts)
    holder = standing.first(lambda one: one.max_time)
    if holder is None or holder.max_time is None or case.plan.link_time <= holder.max_time:
        return
    yield Finding(
        code="C210",
        severity=Severity.ERROR,
        message=f"one job asks for {format_exact_duration(case.plan.link_time)}; "
        f"{holder.whose} gives at most {format_exact_duration(holder.max_time)}",
        hint=f'[resources] link_time = "{format_duration(holder.max_time)}"',
        fact=holder.fact,
        refusal=standing.format_refusal(holder.prefix + _WORD),
    )


def time_is_over_the_site(case: Case) -> Iterator[Finding]:
    """One job asks for more time than the site gives in any of its partitions."""
    limit = case.site.rules.max_time
    if limit is not None and case.plan.link_time > limit:
        yield Finding(
            code="C211",
            severity=Severity.ERROR,
            message=f"one job asks for {format_exact_duration(case.plan.link_time)}; "
            f"{case.site.name} gives at most {format_exact_duration(limit)}",
            hint=f'[resources] link_time = "{format_duration(limit)}"',
            fact=f"rules.max_time of {case.site.name}",
        )


def job_is_too_short_for_the_site(case: Case) -> Iterator[Finding]:
    """The site asks that jobs last a while: very short ones are a burden to Slurm. Tests may be shorter."""
    least, test = case.site.rules.min_job_time, case.site.rules.min_test_time
    written = case.site.partition(case.plan.partition or "")
    is_test = written is not None and written.for_tests
    if least is None or is_test or case.plan.link_time >= least:
        return
    for_tests = f", tests {format_exact_duration(test)}" if test else ""
    yield Finding(
        code="C220",
        severity=Severity.ADVICE,
        message=f"one job asks for {format_exact_duration(case.plan.link_time)}; {case.site.name} wants jobs of "
        f"at least {format_exact_duration(least)}{for_tests}",
        hint="do more in one job, such as several trainings one after another",
        fact=f"rules.min_job_time of {case.site.name}",
    )


def time_is_a_little_over_a_bin(case: Case) -> Iterator[Finding]:
    """The site sorts its nodes by the time of the jobs they take; a little less time opens many more nodes."""
    asked = case.plan.link_time
    below = max((one for one in case.site.rules.time_bins if one < asked), default=None)
    if below is not None and asked <= below * _LITTLE_OVER:
        yield Finding(
            code="C221",
            severity=Severity.ADVICE,
            message=f"one job asks for {format_exact_duration(asked)}; jobs of at most {format_exact_duration(below)} "
            f"may use more nodes of {case.site.name}, and start sooner",
            hint=f'[resources] link_time = "{format_duration(below)}"',
            fact=f"rules.time_bins of {case.site.name}",
        )
