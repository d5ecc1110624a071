"""Is the partition open, and open to this user."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity

_DENIED = "Access/permission denied"


def partition_is_not_up(case: Case) -> Iterator[Finding]:
    """The partition is not up just now. One that is down takes jobs, which wait; one that drains takes none."""
    seen = case.facts.partition(case.plan.partition or "")
    if seen is None or seen.state.upper() == "UP":
        return
    refuses = seen.state.upper() in ("DRAIN", "INACTIVE")
    yield Finding(
        code="C201",
        severity=Severity.ERROR if refuses else Severity.WARNING,
        message=f"partition {seen.name} is {seen.state} now; "
        + ("it takes no job" if refuses else "the job would wait"),
        hint="leave resources.partition out, or wait until it is up",
        fact=f"scontrol show partition {seen.name}",
        refusal="Required partition not available (inactive or drain)" if refuses else None,
    )


def partition_is_for_other_groups(case: Case) -> Iterator[Finding]:
    """The partition is for members of certain Unix groups (AllowGroups), and you are in none of them."""
    seen, mine = case.facts.partition(case.plan.partition or ""), case.facts.groups
    if seen is None or mine is None or not seen.allow_groups or set(mine) & set(seen.allow_groups):
        return
    yield Finding(
        code="C109",
        severity=Severity.ERROR,
        message=f"partition {seen.name} is for the groups {', '.join(seen.allow_groups)}; yours: {', '.join(mine)}",
        hint="leave resources.partition out",
        fact=f"scontrol show partition {seen.name}",
        refusal="User's group not permitted to use this partition",
    )


def partition_is_closed(case: Case) -> Iterator[Finding]:
    """The site file says that you may not use this partition: another category of project, or not for users."""
    written = case.site.partition(case.plan.partition or "")
    why = case.site.find_closed(written) if written is not None else None
    if why is not None:
        yield Finding(
            code="C225",
            severity=Severity.ERROR,
            message=f"partition {case.plan.partition} is closed to you: {why}",
            hint="leave resources.partition out",
            fact=f"partition.{case.plan.partition} of {case.site.name}",
        )


def partition_wants_more(case: Case) -> Iterator[Finding]:
    """Some partitions take jobs only inside a reservation, or only from the administrator."""
    seen = case.facts.partition(case.plan.partition or "")
    if seen is None or not (seen.only_root or (seen.needs_reservation and case.plan.reservation is None)):
        return
    why = "is for the administrators" if seen.only_root else "takes jobs in a reservation only, and none is named"
    yield Finding(
        code="C226",
        severity=Severity.ERROR,
        message=f"partition {seen.name} {why}",
        hint="leave resources.partition out" if seen.only_root else '[resources] reservation = "NAME"',
        fact=f"scontrol show partition {seen.name}",
        refusal=_DENIED,
    )


def partition_is_unknown(case: Case) -> Iterator[Finding]:
    """The site has no partition of this name."""
    name, known = case.plan.partition, case.facts.partitions
    if name is None or not known or any(one.name == name for one in known):
        return
    names = ", ".join(sorted(one.name for one in known))
    yield Finding(
        code="C229",
        severity=Severity.ERROR,
        message=f"{case.site.name} has no partition {name!r}; it has {names}",
        hint="leave resources.partition out, or correct it",
        fact="scontrol show partition",
        refusal="Invalid partition name specified",
    )
