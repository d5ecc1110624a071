"""Whom a queue admits: the accounts and QOS of this user, and what their limits allow."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.facts import Association, Facts, SeenQos
from windlass.core.placing.queues import Queue
from windlass.core.placing.standing import AMOUNTS
from windlass.core.plan import Reason
from windlass.core.run import Resources
from windlass.core.site import Qos, Site

_SLURMS_OWN_DEFAULT = "normal"

Limit = tuple[timedelta, str]  # with whose it is


@dataclass(frozen=True, kw_only=True)
class Level:
    """One QOS as far as it is known: what was seen of it wins over what the site file says."""

    name: str
    max_time: timedelta | None = None
    max_submitted: int | None = None
    priority: int | None = None
    is_default: bool = False  # a job that names none has it
    for_tests: bool = False
    hidden: bool = False
    preempts: bool = False  # jobs of others may push out its jobs
    seen: SeenQos | None = None
    written: Qos | None = None


# ---- accounts --------------------------------------------------------------------------------------


def choose_account(resources: Resources, facts: Facts, queue: Queue | None) -> Reason | None:
    """The account named, else the only or the default one of the user's associations."""
    if resources.account:
        return Reason(field="account", value=resources.account, why="you asked for it")
    usable = _find_usable(facts, queue)
    names = list(dict.fromkeys(one.account for one in usable))
    if len(names) == 1:
        only_here = len({one.account for one in facts.associations or ()}) == 1
        why = "it is the only one you have here" if only_here else "it is the only one of yours for this partition"
        return Reason(field="account", value=names[0], why=why)
    default = next((one for one in usable if one.is_default), None)
    if default is not None:
        others = ", ".join(name for name in names if name != default.account)
        return Reason(field="account", value=default.account, why=f"it is your default (you also have {others})")
    return None


def find_association(facts: Facts, account: str | None, partition: str | None = None) -> Association | None:
    """The one for this partition before the one for all; never one for another partition."""
    wanted = (account or "").lower()  # Slurm keeps accounts in lower case, and compares without
    mine = [
        one for one in facts.associations or () if one.account.lower() == wanted and one.partition in (None, partition)
    ]
    return max(mine, key=lambda one: one.partition is not None, default=None)


def admits_account(queue: Queue, association: Association) -> bool:
    """The lists of a partition hold for the accounts below those they name, too."""
    names = {association.account, *association.parents}
    if queue.accounts:
        return bool(names & set(queue.accounts))
    return not names & set(queue.not_accounts)


def find_account_problem(queue: Queue, facts: Facts, account: str | None) -> str | None:
    """Why this queue does not take jobs of the account, in words."""
    association = find_association(facts, account, queue.name)
    if association is None or admits_account(queue, association):
        return None
    if queue.accounts:
        return f"it takes only accounts {', '.join(queue.accounts)}, and yours is {account}"
    return f"it does not take account {account}"


def _find_usable(facts: Facts, queue: Queue | None) -> list[Association]:
    mine = [one for one in facts.associations or () if queue is None or one.partition in (None, queue.name)]
    # When none is admitted the choice is made all the same, and a check tells what is wrong with it.
    return [one for one in mine if queue and admits_account(queue, one)] or mine


# ---- QOS -------------------------------------------------------------------------------------------


def list_levels(site: Site, facts: Facts, queue: Queue, association: Association | None) -> tuple[Level, ...]:
    """The QOS this user may name in this queue, hidden ones too; empty where nothing is known of any."""
    names = (association.qos if association is not None else ()) or tuple(one.name for one in site.qos)
    default = find_default_qos(site, association)
    return tuple(
        make_level(name, site, facts, is_default=name == default)
        for name in names
        if (not queue.qos or name in queue.qos) and name not in queue.not_qos
    )


def make_level(name: str, site: Site, facts: Facts, *, is_default: bool = False) -> Level:
    seen = facts.seen_qos(name)
    written = next((one for one in site.qos if one.name == name), None)
    return Level(
        name=name,
        max_time=seen.max_time if seen else written.max_time if written else None,
        max_submitted=seen.max_submit if seen else written.max_submitted if written else None,
        priority=seen.priority if seen else written.priority if written else None,
        is_default=is_default,
        for_tests=written is not None and written.for_tests,
        hidden=written is not None and written.hidden,
        preempts=bool(seen and seen.preempted_by),
        seen=seen,
        written=written,
    )


def find_default_qos(site: Site, association: Association | None) -> str | None:
    """What a job has that names none: the account's default, its only one, or `normal`; else what the file says."""
    if association is not None:
        if association.default_qos is not None:
            return association.default_qos
        if len(association.qos) == 1:
            return association.qos[0]
        if _SLURMS_OWN_DEFAULT in association.qos:
            return _SLURMS_OWN_DEFAULT
    return next((one.name for one in site.qos if one.is_default), None)


# ---- limits ----------------------------------------------------------------------------------------


def find_time_limits(
    resources: Resources, site: Site, queue: Queue, association: Association | None, levels: tuple[Level, ...]
) -> tuple[Limit, ...]:
    """On one job, with whose they are: the user's own wish, the site's, the partition's, the QOS's, the account's."""
    found = (
        (resources.link_time, "your link_time"),
        (site.rules.max_time, f"the limit of {site.name}"),
        (queue.max_time, f"the limit of partition {queue.name}"),
        (association.max_time if association else None, f"the limit of account {association and association.account}"),
        *((level.max_time, f"the limit of QOS {level.name}") for level in levels),
    )
    return tuple((limit, whose) for limit, whose in found if limit is not None)


def find_caps(association: Association | None, levels: tuple[Level, ...]) -> Mapping[str, tuple[int, str]]:
    """The most one job may have of each resource that is limited, with whose limit it is."""
    caps: dict[str, tuple[int, str]] = {}
    for limits, whose in _list_caps(association, levels):
        for name, most in limits.items():
            caps[name] = min(caps.get(name, (most, whose)), (most, whose))
    return caps


def find_over_caps(wanted: Mapping[str, int], association: Association | None, levels: tuple[Level, ...]) -> str | None:
    """Which limit of the account or a QOS a job breaks that needs `wanted`, in words."""
    for name, (most, whose) in find_caps(association, levels).items():
        if wanted.get(name, 0) > most:
            return f"{whose} gives at most {most} {_format_resource(name)}, you ask for {wanted[name]}"
    for level in levels:
        for name, least in (level.seen.min_per_job if level.seen else {}).items():
            if name in wanted and wanted[name] < least:
                return f"QOS {level.name} wants at least {least} {_format_resource(name)}, you ask for {wanted[name]}"
    return None


def _list_caps(association: Association | None, levels: tuple[Level, ...]) -> Iterator[tuple[Mapping[str, int], str]]:
    if association is not None:
        yield association.max_per_job, f"account {association.account}"
        yield association.group_at_once, f"account {association.account}"
    for level in levels:
        if level.seen is not None:
            yield level.seen.max_per_job, f"QOS {level.name}"
            yield level.seen.max_per_user, f"QOS {level.name}"
            yield level.seen.group_at_once, f"QOS {level.name}"
        elif level.written is not None and level.written.max_gpus is not None:
            yield {"gres/gpu": level.written.max_gpus}, f"QOS {level.name}"


def _format_resource(name: str) -> str:
    return AMOUNTS.get(name, name.removeprefix("gres/").removeprefix("gpu:") + "s" if "gpu:" in name else name)
