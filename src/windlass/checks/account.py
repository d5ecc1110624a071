"""Who pays, and may they."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity


def account_is_missing(case: Case) -> Iterator[Finding]:
    """This site wants an account (a project that pays) with every job, and none was given or could be chosen.

    Slurm would say: Invalid account or account/partition combination specified.
    """
    if not case.site.rules.needs_account or case.plan.account:
        return
    names = sorted({one.account for one in case.facts.associations or ()})
    yield Finding(
        code="C101",
        severity=Severity.ERROR,
        message=f"{case.site.name} wants an account with every job"
        + (f"; yours are {', '.join(names)}" if names else ""),
        hint=f"--account {names[0] if names else 'NAME'}",
    )


def account_is_not_yours(case: Case) -> Iterator[Finding]:
    """The account of the run is not among those Slurm knows for you at this site."""
    known = case.facts.associations
    if known is None or case.plan.account is None:
        return
    names = sorted({one.account for one in known})
    # Slurm keeps them in lower case, and compares without.
    if case.plan.account.lower() not in {name.lower() for name in names}:
        yield Finding(
            code="C102",
            severity=Severity.ERROR,
            message=f"account {case.plan.account!r} is not yours at {case.site.name}; "
            f"yours: {', '.join(names) or 'none'}",
            hint=f"--account {names[0]}" if names else None,
        )


def qos_is_not_yours(case: Case) -> Iterator[Finding]:
    """The QOS of the run is not allowed for your account. Slurm would say: Invalid qos specification."""
    if case.plan.qos is None or case.facts.associations is None:
        return
    mine = [one for one in case.facts.associations if case.plan.account in (None, one.account)]
    allowed = sorted({qos for one in mine for qos in one.qos})
    if allowed and case.plan.qos not in allowed:
        yield Finding(
            code="C103",
            severity=Severity.ERROR,
            message=f"QOS {case.plan.qos!r} is not allowed for you; allowed: {', '.join(allowed)}",
            hint=f"--qos {allowed[0]}",
        )


def too_many_jobs(case: Case) -> Iterator[Finding]:
    """Sites limit how many jobs you may have submitted; every link of a chain counts as one.

    Slurm would say: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits).
    """
    association = next((one for one in case.facts.associations or () if one.account == case.plan.account), None)
    limits = [case.site.rules.max_submitted, association.max_submit if association else None]
    known = [limit for limit in limits if limit is not None]
    if not known:
        return
    queued = case.facts.jobs_in_queue or 0
    if queued + case.plan.links > min(known):
        yield Finding(
            code="C104",
            severity=Severity.ERROR,
            message=f"you may have {min(known)} jobs submitted; {queued} are, and this run needs {case.plan.links}",
            hint="wait for some to end, or ask for fewer links: resources.time",
        )
