"""What the probe told of one compute node, and how it differs from what the site file says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from windlass.core.site import NodeType, Site

MAX_CLOCK_S = 5.0  # more apart, and file times and tokens begin to lie
_MIN_SHARED_MEMORY_MB = 1000
_MIN_LOCKED_KB = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One thing about the node. `is_good` None: neither good nor bad."""

    what: str
    words: str
    is_good: bool | None = None
    hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class NodeSeen:
    """What the last probe of a site found, kept on the laptop."""

    internet: bool | None = None
    driver: str | None = None
    cuda: str | None = None
    taken_at: float = 0.0


def read_node(told: Mapping[str, Any], now: float) -> NodeSeen:
    gpus = told.get("gpus")
    first = gpus[0] if isinstance(gpus, list) and gpus and isinstance(gpus[0], Mapping) else {}
    driver, cuda = first.get("driver"), told.get("cuda")
    return NodeSeen(
        internet=_has_internet(told),
        driver=driver if isinstance(driver, str) else None,
        cuda=cuda if isinstance(cuda, str) else None,
        taken_at=now,
    )


def learn_from(site: Site, node: NodeSeen | None) -> Site:
    """The site with what a probe saw where its file says nothing."""
    if node is None:
        return site
    rules, software = site.rules, site.software
    if rules.compute_internet is None:
        rules = replace(rules, compute_internet=node.internet)
    if software.driver is None:
        software = replace(software, driver=node.driver, cuda=software.cuda or node.cuda)
    return replace(site, rules=rules, software=software)


def _has_internet(told: Mapping[str, Any]) -> bool | None:
    seen = told.get("internet")
    return bool(seen.get("reached")) or bool(seen.get("proxy")) if isinstance(seen, Mapping) else None


def judge_probe(told: Mapping[str, Any], site: Site, *, asked_at: float, got_at: float) -> tuple[Remark, ...]:
    """`asked_at`, `got_at`: when the job cannot have told the time earlier, and later, by the laptop's clock."""
    parts = (
        _judge_machine(told, site),
        _judge_gpus(told, site),
        _judge_internet(told, site),
        _judge_shared_memory(told),
        _judge_local_disk(told, site),
        _judge_folders(told, site),
        _judge_network_memory(told),
        _judge_clock(told, asked_at, got_at),
    )
    return tuple(remark for part in parts for remark in part)


def _judge_machine(told: Mapping[str, Any], site: Site) -> Iterator[Remark]:
    words = f"{told.get('host')}: {told.get('architecture')}, {told.get('cpus')} CPUs, glibc {told.get('glibc')}"
    known = {node.architecture for node in site.node_types}
    if known and told.get("architecture") and told["architecture"] not in known:
        yield Remark(what="node", words=f"{words}; the file knows {', '.join(sorted(known))}", is_good=False)
    else:
        yield Remark(what="node", words=f"{words}, Python {told.get('python')}", is_good=True)


def _judge_gpus(told: Mapping[str, Any], site: Site) -> Iterator[Remark]:
    gpus = told.get("gpus")
    if not isinstance(gpus, list) or not gpus:
        yield Remark(what="gpu", words="none was seen by nvidia-smi on this node")
        return
    first = gpus[0]
    words = f"{len(gpus)} x {first.get('name')}, {_format_mb(first.get('memory_mb'))}, driver {first.get('driver')}"
    words += f", CUDA up to {told['cuda']}" if told.get("cuda") else ""
    capability = first.get("capability")
    known = {kind.capability for kind in site.gpus if kind.capability}
    if capability and known and capability not in known:
        said = f"{words}; compute capability {capability}, the file knows {', '.join(sorted(known))}"
        yield Remark(what="gpu", words=said, is_good=False, hint=f'[gpu.NAME] capability = "{capability}"')
    else:
        yield Remark(
            what="gpu", words=words + (f", compute capability {capability}" if capability else ""), is_good=True
        )


def _judge_internet(told: Mapping[str, Any], site: Site) -> Iterator[Remark]:
    seen = told.get("internet")
    if not isinstance(seen, Mapping):
        return
    reached = list(seen.get("reached") or ())
    words = f"reached {', '.join(reached)}" if reached else f"none: tried {', '.join(seen.get('tried') or ())}"
    if seen.get("proxy") is not None:
        words += f"; the proxy {'answers' if seen['proxy'] else 'does not answer'}"
    has_it = bool(_has_internet(told))
    hint = f"[rules] compute_internet = {str(has_it).lower()}   # in the site file"
    if site.rules.compute_internet is None:
        yield Remark(what="internet", words=f"{words}; plans count on that from now on", is_good=True, hint=hint)
    elif site.rules.compute_internet is not has_it:
        yield Remark(what="internet", words=words, is_good=False, hint=hint)
    else:
        yield Remark(what="internet", words=words, is_good=True)


def _judge_shared_memory(told: Mapping[str, Any]) -> Iterator[Remark]:
    disk = told.get("shared_memory")
    if not isinstance(disk, Mapping):
        yield Remark(what="/dev/shm", words="not there: data loaders with workers will fail", is_good=False)
        return
    is_good = disk.get("size_mb", 0) >= _MIN_SHARED_MEMORY_MB
    yield Remark(what="/dev/shm", words=f"{_format_mb(disk.get('size_mb'))}", is_good=is_good)


def _judge_local_disk(told: Mapping[str, Any], site: Site) -> Iterator[Remark]:
    disk = told.get("local_disk")
    if not isinstance(disk, Mapping):
        return
    where = f"${disk['variable']}" if disk.get("variable") else disk.get("path")
    words = f"{where} is {disk.get('path')}: {disk.get('kind')}, {_format_mb(disk.get('free_mb'))} free"
    largest = max((node.local_disk_gb or 0 for node in _gpu_nodes_first(site)), default=0)
    too_small = largest > 0 and disk.get("size_mb", 0) < 0.5 * largest * 1000
    words += f"; the file says {largest:g} GB" if too_small else ""
    words += "; it is in memory and counts against --mem" if disk.get("kind") == "tmpfs" else ""
    yield Remark(what="local disk", words=words, is_good=not too_small)


def _gpu_nodes_first(site: Site) -> tuple[NodeType, ...]:
    return tuple(node for node in site.node_types if node.gpus) or site.node_types


def _judge_folders(told: Mapping[str, Any], site: Site) -> Iterator[Remark]:
    home = told.get("home") or {}
    usable = bool(home.get("is_there") and home.get("is_writable"))
    if usable is not site.rules.jobs_from_home:
        word = str(usable).lower()
        words = f"home {'can' if usable else 'cannot'} be written to in jobs"
        yield Remark(what="home", words=words, is_good=False, hint=f"[rules] jobs_from_home = {word}")
    for folder in (told.get("folders") or {}).values():
        if not folder.get("is_there"):
            yield Remark(what="folders", words=f"{folder.get('path')} is not there in jobs", is_good=False)


def _judge_network_memory(told: Mapping[str, Any]) -> Iterator[Remark]:
    limit = told.get("locked_memory_kb")
    if isinstance(limit, int) and limit < _MIN_LOCKED_KB:
        words = f"only {limit} kB may be locked: NCCL over InfiniBand can fail with `Cannot allocate memory`"
        yield Remark(what="limits", words=words, is_good=None)


def _judge_clock(told: Mapping[str, Any], asked_at: float, got_at: float) -> Iterator[Remark]:
    there = told.get("time")
    if not isinstance(there, int | float):
        return
    off = there - got_at if there > got_at else there - asked_at if there < asked_at else 0.0
    if abs(off) > MAX_CLOCK_S:
        yield Remark(what="clock", words=f"the node's clock is {off:+.0f} s from this laptop's", is_good=False)
    else:
        yield Remark(what="clock", words="agrees with this laptop's", is_good=True)


def _format_mb(megabytes: Any) -> str:
    try:
        return f"{float(megabytes) / 1000:.1f} GB"
    except (TypeError, ValueError):
        return "unknown size"
