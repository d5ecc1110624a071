"""Who pays, with which QOS, and may they in this partition."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.facts import Association, SeenPartition
from windlass.core.finding import Finding, Severity
from windlass.core.placing.standing import choose_refusal, find_own_association, find_qos_name

_WRONG_ACCOUNT = "Invalid account or account/partition combination specified"
_WRONG_QOS = "Invalid qos specification"


def account_is_missing(case: Case) -> Iterator[Finding]:
    """This site wants an account (a project that pays) with every job, and none was given or could be chosen."""
    if not case.site.rules.needs_account or case.plan.account:
        return
    names = _list_accounts(case)
    # Who has a default account is taken with that.
    has_none = case.facts.associations is not None and not any(one.is_default for one in case.facts.associations)
    yield Finding(
        code="C101",
        severity=Severity.ERROR,
        message=f"{case.site.name} wants an account with every job"
        + (f"; yours are {', '.join(names)}" if names else ""),
        hint=f"--account {names[0] if names else 'NAME'}",
        fact=f"rules.needs_account of {case.site.name}",
        refusal=_WRONG_ACCOUNT if has_none and case.facts.enforces_limits else None,
    )


def account_is_not_yours(case: Case) -> Iterator[Finding]:
    """The account of the run is not among those Slurm knows for you at this site: a slip, or a project that ended."""
    if case.facts.associations is None or case.plan.account is None:
        return
    names = _list_accounts(case)
    # Slurm keeps them in lower case, and compares without.
    if case.plan.account.lower() not in {name.lower() for name in names}:
        yield Finding(
            code="C102",
            severity=Severity.ERROR,
            message=f"account {case.plan.account!r} is not yours at {case.site.name}; "
            f"yours: {', '.join(names) or 'none'}",
            hint=f"--account {names[0]}" if names else f"ask {case.site.support or 'the centre'} for one",
            fact="sacctmgr show assoc user=$USER",
            refusal=_WRONG_ACCOUNT if case.facts.enforces_limits else None,
        )


def no_account_at_all(case: Case) -> Iterator[Finding]:
    """Slurm at this site knows no account of yours, and takes jobs only from those who have one."""
    if case.facts.associations != () or case.plan.account is not None or not case.facts.enforces_limits:
        return
    yield Finding(
        code="C105",
        severity=Severity.ERROR,
        message=f"Slurm at {case.site.name} knows no account of {case.facts.user or 'yours'}, and every job needs one",
        hint=f"ask {case.site.support or 'the centre'}, or the leader of your project, to add you",
        fact="sacctmgr show assoc user=$USER",
        refusal=_WRONG_ACCOUNT,
    )


def account_is_for_other_partitions(case: Case) -> Iterator[Finding]:
    """Your account is bound to certain partitions at this site, and the chosen one is not among them."""
    account, partition = case.plan.account, case.plan.partition
    if account is None or partition is None:
        return
    bound = {one.partition for one in case.facts.associations or () if one.account.lower() == account.lower()}
    if not bound or None in bound or partition in bound:
        return
    names = sorted(name for name in bound if name)
    others = sorted({one.account for one in case.facts.associations or () if one.partition in (None, partition)})
    yield Finding(
        code="C106",
        severity=Severity.ERROR,
        message=f"account {account} is for {', '.join(names)} only, and the job goes to {partition}",
        hint=f"--account {others[0]}" if others else f"--partition {names[0]}",
        fact=f"sacctmgr show assoc user=$USER account={account}",
        refusal=_WRONG_ACCOUNT if case.facts.enforces_limits else None,
    )


def partition_refuses_the_account(case: Case) -> Iterator[Finding]:
    """The partition takes some accounts only (AllowAccounts), or not this one (DenyAccounts)."""
    seen, mine = case.facts.partition(case.plan.partition or ""), find_own_association(case.plan, case.facts)
    account = case.plan.account or (mine.account if mine else None)
    if seen is None or account is None or _takes(case, seen, account, mine):
        return
    allowed = [name for name in _list_accounts(case) if name in seen.allow_accounts]
    if seen.deny_accounts and not seen.allow_accounts:
        rule, says = f"not {', '.join(seen.deny_accounts)}", f"denies {','.join(seen.deny_accounts)} including"
    else:
        rule, says = f"only {', '.join(seen.allow_accounts)}", f"allows {','.join(seen.allow_accounts)} not"
    yield Finding(
        code="C107",
        severity=Severity.ERROR,
        message=f"partition {seen.name} takes {rule}; the account is {account}",
        hint=f"--account {allowed[0]}" if allowed else "leave resources.partition out",
        fact=f"scontrol show partition {seen.name}",
        refusal=choose_refusal(
            case.facts,
            refused=_WRONG_ACCOUNT,
            waits=f"Job's account not permitted to use this partition ({seen.name} {says} {account})",
        ),
    )


def qos_is_not_yours(case: Case) -> Iterator[Finding]:
    """The QOS of the run is not allowed for your account."""
    if case.plan.qos is None or case.facts.associations is None:
        return
    own = find_own_association(case.plan, case.facts)
    mine = [own] if own is not None else case.facts.associations if case.plan.account is None else []
    allowed = sorted({qos for one in mine for qos in one.qos})
    if allowed and case.plan.qos.lower() not in {name.lower() for name in allowed}:
        yield Finding(
            code="C103",
            severity=Severity.ERROR,
            message=f"QOS {case.plan.qos!r} is not allowed for you; allowed: {', '.join(allowed)}",
            hint=f"--qos {_choose_qos(own, allowed)}",
            fact="sacctmgr show assoc user=$USER",
            refusal=_WRONG_QOS if case.facts.enforces_limits else None,
        )


def partition_refuses_the_qos(case: Case) -> Iterator[Finding]:
    """The partition takes jobs of some QOS only (AllowQos), or none of this one (DenyQos)."""
    seen = case.facts.partition(case.plan.partition or "")
    name = find_qos_name(case.plan, find_own_association(case.plan, case.facts))
    if seen is None or name is None or not (seen.allow_qos or seen.deny_qos):
        return
    if name in seen.allow_qos or (not seen.allow_qos and name not in seen.deny_qos):
        return
    listed = seen.allow_qos or seen.deny_qos
    says = f"allows {','.join(listed)} not" if seen.allow_qos else f"denies {','.join(listed)} including"
    yield Finding(
        code="C108",
        severity=Severity.ERROR,
        message=f"partition {seen.name} takes {'only' if seen.allow_qos else 'not'} QOS {', '.join(listed)}; "
        f"the job has {name}",
        hint=f"--qos {seen.allow_qos[0]}" if seen.allow_qos else "leave resources.partition or resources.qos out",
        fact=f"scontrol show partition {seen.name}",
        refusal=choose_refusal(
            case.facts,
            refused=_WRONG_QOS,
            waits=f"Job's QOS not permitted to use this partition ({seen.name} {says} {name})",
        ),
    )


def _choose_qos(own: Association | None, allowed: list[str]) -> str:
    """The default, or the one that nearly everybody has."""
    wanted = own.default_qos if own is not None and own.default_qos else "normal"
    return wanted if wanted in allowed else allowed[0]


def _list_accounts(case: Case) -> list[str]:
    return sorted({one.account for one in case.facts.associations or ()})


def _takes(case: Case, seen: SeenPartition, account: str, mine: Association | None) -> bool:
    names = {account.lower()}
    if case.facts.allows_children is not False:
        names |= {name.lower() for name in (mine.parents if mine else ())}
    if seen.allow_accounts:
        return any(name.lower() in names for name in seen.allow_accounts)
    return not any(name.lower() == account.lower() for name in seen.deny_accounts)
