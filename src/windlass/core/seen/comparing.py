"""Where a site file and the living site differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from windlass.core.facts import Facts, SeenPartition, SeenQuota
from windlass.core.site import NodeType, Partition, Qos, Site
from windlass.core.units import format_exact_duration

_CLOSE = 0.1  # a data sheet's gigabytes are never Slurm's: less apart than this is no difference


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One key of the file that reality contradicts. `seen` None: it is not there at all."""

    what: str  # "partitions", "gpus", "qos", "quotas"
    key: str  # "partition.gpu.max_time"
    written: str
    seen: str | None


def compare(site: Site, facts: Facts) -> tuple[Difference, ...]:
    return (*_compare_partitions(site, facts), *_compare_levels(site, facts), *_compare_quotas(site, facts))


def list_unwritten(site: Site, facts: Facts) -> tuple[str, ...]:
    """Partitions that are there and of which the file does not tell."""
    return tuple(one.name for one in facts.partitions or () if site.partition(one.name) is None)


def _compare_partitions(site: Site, facts: Facts) -> Iterator[Difference]:
    if facts.partitions is None:
        return
    for written in site.partitions:
        seen = facts.partition(written.name)
        if seen is None:
            yield Difference(what="partitions", key=f"partition.{written.name}", written="there", seen=None)
            continue
        yield from _compare_partition(written, seen)
        yield from _compare_nodes(site, written, seen)


def _compare_partition(written: Partition, seen: SeenPartition) -> Iterator[Difference]:
    key = f"partition.{written.name}"
    for name in ("max_time", "default_time"):
        ours, theirs = getattr(written, name), getattr(seen, name)
        if ours is not None and ours != theirs:
            yield Difference(what="partitions", key=f"{key}.{name}", written=_show(ours), seen=_show(theirs))
    if written.max_nodes is not None and seen.max_nodes is not None and written.max_nodes != seen.max_nodes:
        yield Difference(
            what="partitions", key=f"{key}.max_nodes", written=str(written.max_nodes), seen=str(seen.max_nodes)
        )
    if written.whole_nodes is not None and written.whole_nodes != seen.whole_nodes:
        yield Difference(
            what="partitions",
            key=f"{key}.whole_nodes",
            written=str(written.whole_nodes).lower(),
            seen=str(seen.whole_nodes).lower(),
        )


def _compare_nodes(site: Site, written: Partition, seen: SeenPartition) -> Iterator[Difference]:
    """The types a partition has by its file against the shapes it has by Slurm."""
    if not seen.shapes:
        return
    for node in (one for name in written.nodes if (one := site.node_type(name))):
        key = f"node.{node.name}"
        kind = _spell(site, node)
        if node.gpus and not any(name in (kind, "") and count >= node.gpus for name, count in seen.gpus):
            told = ", ".join(f"{count} x {name or 'gpu'}" for name, count in seen.gpus) or "none"
            yield Difference(what="gpus", key=f"{key}.gpus", written=f"{node.gpus} x {kind}", seen=told)
            continue
        cores = {shape.cpus for shape in seen.shapes if shape.cpus}
        # Slurm may count threads where a data sheet counts cores.
        if node.cores and cores and not cores & {node.cores, node.cores * node.threads_per_core}:
            told = ", ".join(str(count) for count in sorted(cores))
            yield Difference(what="nodes", key=f"{key}.cores", written=str(node.cores), seen=told)
        memory = [shape.memory_mb / 1000 for shape in seen.shapes if shape.memory_mb]
        if node.memory_gb and memory and not any(_is_close(node.memory_gb, one) for one in memory):
            told = ", ".join(f"{one:.0f}" for one in sorted(set(memory)))
            yield Difference(what="nodes", key=f"{key}.memory_gb", written=f"{node.memory_gb:g}", seen=told)


def _spell(site: Site, node: NodeType) -> str:
    kind = site.gpu(node.gpu) if node.gpu else None
    return (kind.spelled or kind.name) if kind else node.gpu or ""


def _compare_levels(site: Site, facts: Facts) -> Iterator[Difference]:
    if facts.qos is None:
        return
    for written in site.qos:
        seen = facts.seen_qos(written.name)
        if seen is None:
            yield Difference(what="qos", key=f"qos.{written.name}", written="there", seen=None)
            continue
        pairs = (
            ("max_time", _show(written.max_time), _show(seen.max_time)),
            ("max_running", _count(written.max_running), _count(seen.max_jobs)),
            ("max_submitted", _count(written.max_submitted), _count(seen.max_submit)),
        )
        for name, ours, theirs in pairs:
            if getattr(written, name) is not None and ours != theirs:
                yield Difference(what="qos", key=_level_key(written, name), written=ours, seen=theirs)


def _level_key(written: Qos, name: str) -> str:
    return f"qos.{written.name}.{name}"


def _compare_quotas(site: Site, facts: Facts) -> Iterator[Difference]:
    for quota in facts.quotas or ():
        area = next((one for one in site.storage if one.name == quota.area), None)
        if area is None:
            continue
        seen_gb = None if quota.limit_bytes is None else quota.limit_bytes / 1e9
        if area.quota_gb and seen_gb and not _is_close(area.quota_gb, seen_gb):
            yield _quota_difference(quota, "quota_gb", f"{area.quota_gb:g}", f"{seen_gb:.4g}")
        if area.quota_files and quota.limit_files and not _is_close(area.quota_files, quota.limit_files):
            yield _quota_difference(quota, "quota_files", str(area.quota_files), str(quota.limit_files))


def _quota_difference(quota: SeenQuota, name: str, written: str, seen: str) -> Difference:
    return Difference(what="quotas", key=f"storage.{quota.area}.{name}", written=written, seen=seen)


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= _CLOSE * max(one, other)


def _show(time: timedelta | None) -> str:
    return "no limit" if time is None else format_exact_duration(time)


def _count(number: int | None) -> str:
    return "no limit" if number is None else str(number)
