"""`site check`: a site's file and the site itself compared. Asks, changes nothing."""

from collections.abc import Iterator

from windlass.app.nodes_seen import recall_node
from windlass.app.session import Session
from windlass.app.verdicts import Line, fail, ok, skip, warn
from windlass.core.facts import Facts, SeenQuota
from windlass.core.seen.comparing import Difference, compare, list_unwritten
from windlass.core.seen.node_probe import NodeSeen
from windlass.core.site import Site
from windlass.core.units import format_bytes
from windlass.errors import WindlassError

_NEARLY_FULL = 0.9


def check_site(session: Session, name: str) -> list[Line]:
    """What cannot be reached ends the list."""
    site = session.site(name)
    lines = [ok("site file", _describe_file(site))]
    try:
        facts = session.facts(site, max_age_s=0)
    except WindlassError as problem:
        return [*lines, *_tell_vpn(site), fail("connection", problem.message, problem.hint)]
    return [*lines, *_look_around(session, site, facts), *_compare(site, facts)]


def _describe_file(site: Site) -> str:
    return f"{len(site.partitions)} partitions, {len(site.qos)} QOS, {len(site.storage)} areas written down"


def _tell_vpn(site: Site) -> list[Line]:
    return [warn("vpn", f"this site is reached through: {site.login.vpn}")] if site.login.vpn else []


def _look_around(session: Session, site: Site, facts: Facts) -> Iterator[Line]:
    yield ok("connection", f"{facts.user} at {site.login.host or 'this machine'}")
    yield _need("python", facts.python_version, f"{site.software.python} is {facts.python_version}")
    yield _check_slurm(session, site, facts)
    partitions = [one.name for one in facts.partitions or ()]
    yield _need("partitions", partitions, ", ".join(partitions))
    accounts = sorted({one.account for one in facts.associations or ()})
    yield _need("accounts", accounts or not site.rules.needs_account, ", ".join(accounts) or "none needed")
    yield _check_folder(facts)
    if facts.has_accounting is False:
        yield warn("accounting", "sacct has none: ended jobs are told by their files")
    yield from (check_quota(one) for one in facts.quotas or ())
    yield _tell_internet(site, recall_node(session, site.name))


def _check_slurm(session: Session, site: Site, facts: Facts) -> Line:
    """The version, and which of the fields we ask for this one does not know."""
    if not facts.scheduler_version:
        return fail("slurm", "its version was not told", "windlass site show " + site.name)
    try:
        refused = session.cluster(site).look().refused_fields
    except WindlassError as problem:
        return fail("slurm", f"version {facts.scheduler_version}, and the queue cannot be read: {problem.message}")
    if refused:
        return warn("slurm", f"version {facts.scheduler_version} does not know the fields {', '.join(refused)}")
    return ok("slurm", f"version {facts.scheduler_version}, all fields understood")


def _check_folder(facts: Facts) -> Line:
    if facts.root is None:
        return fail("folder", "where runs would lie was not seen")
    free = "unknown space" if facts.free_mb is None else f"{facts.free_mb / 1000:.1f} GB"
    return ok("folder", f"{facts.root}, {free} free")


def check_quota(quota: SeenQuota) -> Line:
    used = [
        (quota.used_bytes, quota.limit_bytes, format_bytes),
        (quota.used_files, quota.limit_files, lambda count: f"{count} files"),
    ]
    parts = [f"{show(have)} of {show(most)}" for have, most, show in used if have is not None and most]
    share = max((have / most for have, most, _ in used if have is not None and most), default=0.0)
    words = f"{quota.area} ({quota.path}): {', '.join(parts) or 'no limit told'}"
    what = "quota"
    if quota.is_shared:
        what, words = "space", f"{words} used by all; your own quota was not told"
    if share >= 1:
        return fail(what, f"{words}: full", f"remove something under {quota.path}")
    return warn(what, f"{words}: {share:.0%} used") if share >= _NEARLY_FULL else ok(what, words)


def _tell_internet(site: Site, node: NodeSeen | None) -> Line:
    said = "have it" if site.rules.compute_internet else "have none"
    if site.rules.compute_internet is not None:
        return skip("internet", f"compute nodes {said}, says the file", f"windlass site check {site.name} --deep")
    if node is not None and node.internet is not None:
        return ok("internet", f"compute nodes {'have it' if node.internet else 'have none'}, saw the last test job")
    return skip("internet", "not written down", f"windlass site check {site.name} --deep")


def _compare(site: Site, facts: Facts) -> Iterator[Line]:
    yield from (_tell_difference(one) for one in compare(site, facts))
    unwritten = list_unwritten(site, facts)
    if unwritten and site.partitions:
        yield warn("partitions", f"there, but not in the file: {', '.join(unwritten)}")


def _tell_difference(one: Difference) -> Line:
    if one.seen is None:
        return warn(one.what, f"{one.key} is written down but not there")
    return warn(one.what, f"{one.key} is {one.seen}; the file says {one.written}")


def _need(what: str, seen: object, words: str) -> Line:
    return ok(what, words) if seen else fail(what, "not seen")
