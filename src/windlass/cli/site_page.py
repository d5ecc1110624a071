"""A site as people read it: the way there, its queues, places for files, rules, cost, and where each fact is from."""

from collections.abc import Iterator, Sequence

from windlass.cli.output import Output
from windlass.cli.rows import format_nodes
from windlass.core.placing.queues import Queue
from windlass.core.site import Area, CostUnit, Qos, Site
from windlass.core.units import format_human_duration

_QUEUE_HEAD = ("PARTITION", "LIMIT", "NODES", "CORES", "MEMORY", "GPUS", "NOTE")
_LEVEL_HEAD = ("QOS", "LIMIT", "RUNNING", "QUEUED", "PRIORITY", "NOTE")
_AREA_HEAD = ("AREA", "PATH", "QUOTA", "FILES", "PURGE", "NOTE")


def show_site(output: Output, site: Site, queues: Sequence[Queue], *, with_sources: bool) -> None:
    output.show(f"{site.name}: {site.title}")
    for name, words in _describe(site):
        output.show_words(f"{name:<10} {words}")
    if queues:
        output.show_table(_QUEUE_HEAD, [_make_queue_row(queue, site) for queue in queues])
    levels = [one for one in site.qos if not one.hidden]
    if levels:
        output.show_table(_LEVEL_HEAD, [_make_level_row(one) for one in levels])
    if site.storage:
        output.show_table(_AREA_HEAD, [_make_area_row(one) for one in site.storage])
    for note in site.notes:
        output.show_words(f"note: {note}")
    if with_sources:
        _show_origins(output, site)


def _describe(site: Site) -> Iterator[tuple[str, str]]:
    way = " > ".join((*site.login.jump, site.login.host or "this machine"))
    yield "login", way + (f"; first: {site.login.vpn}" if site.login.vpn else "")
    if site.login.transfer_host:
        is_own = site.login.transfer_host != site.login.host
        yield "data", f"through {site.login.transfer_host}{'' if is_own else ', the centre names no other host for it'}"
    yield "runs", site.root
    yield "cost", _describe_cost(site)
    rules = list(_describe_rules(site))
    if rules:
        yield "rules", "; ".join(rules)
    if site.replaced_by:
        yield "replaced", f"by {site.replaced_by}"
    for name, words in (("support", site.support), ("more", site.documentation)):
        if words:
            yield name, words


def _describe_cost(site: Site) -> str:
    if site.accounting.unit is CostUnit.UNKNOWN:
        return "not written down"
    unit = site.accounting.unit_name or str(site.accounting.unit)
    return unit + (f", for a {site.accounting.period}" if site.accounting.period else "")


def _describe_rules(site: Site) -> Iterator[str]:
    rules = site.rules
    if rules.compute_internet is False:
        yield "compute nodes have no internet"
    if rules.whole_nodes:
        yield "jobs get nodes whole"
    if not rules.jobs_from_home:
        yield "jobs cannot use home"
    if rules.needs_account:
        yield "every job names an account"
    if rules.max_submitted is not None:
        yield f"at most {rules.max_submitted} jobs in the queue"
    if rules.min_job_time is not None:
        yield f"jobs of {format_human_duration(rules.min_job_time)} or more"


def _make_queue_row(queue: Queue, site: Site) -> tuple[str, ...]:
    gpus = f"{queue.gpus} x {queue.gpu or 'GPU'}" if queue.gpus else ""
    memory = f"{queue.memory_mb / 1000:.0f} GB" if queue.memory_mb else ""
    limit = format_human_duration(queue.max_time) if queue.max_time else ""
    written = site.partition(queue.name)
    remarks = (queue.forbidden or "", "default" if queue.is_default else "", "tests" if queue.for_tests else "")
    words = ", ".join(word for word in (*remarks, (written.purpose or "") if written else "") if word)
    nodes = format_nodes(queue.count, queue.max_nodes)
    return queue.name, limit, nodes, str(queue.cores or ""), memory, gpus, words


def _make_level_row(one: Qos) -> tuple[str, ...]:
    words = ", ".join(word for word in ("default" if one.is_default else "", one.purpose or "") if word)
    limit = format_human_duration(one.max_time) if one.max_time else ""
    counts = [("" if number is None else str(number)) for number in (one.max_running, one.max_submitted, one.priority)]
    return one.name, limit, *counts, words


def _make_area_row(one: Area) -> tuple[str, ...]:
    owner = " a group" if one.per_group else ""
    quota = f"{one.quota_gb:g} GB{owner}" if one.quota_gb else ""
    files = f"{one.quota_files}{owner}" if one.quota_files else ""
    remarks = ("" if one.in_jobs else "not in jobs", "no backup" if one.backed_up is False else "")
    words = ", ".join(word for word in remarks if word)
    return one.name, one.path, quota, files, format_purge(one), words


def _show_origins(output: Output, site: Site) -> None:
    for key, words in site.decisions.items():
        output.show_words(f"decided: {key}: {words}")
    for key, words in site.sources.items():
        output.show_words(f"source: {key}: {words}")


def format_purge(area: Area) -> str:
    """Such as: 60 d by atime, ctime."""
    if not area.purge_days:
        return ""
    return f"{area.purge_days} d" + (f" by {', '.join(area.purge_by)}" if area.purge_by else "")
