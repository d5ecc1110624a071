"""What `windlass queues` shows: each partition with its limits, what of it is free now, and when it is taken away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from windlass.core.facts import Facts, Reservation, SeenPartition
from windlass.core.placing.queues import Queue, make_queues
from windlass.core.site import Site

_NONE: Mapping[str, tuple[int, int]] = {}


@dataclass(frozen=True, kw_only=True)
class Free:
    """Of one partition, just now."""

    nodes_idle: int = 0
    nodes_mixed: int = 0  # a part of each is free
    nodes_full: int = 0
    nodes_down: int = 0  # down, drained, reserved: nothing of them is free
    cores_free: int = 0  # as Slurm counts CPUs
    cores: int = 0
    gpus: Mapping[str, tuple[int, int]] = field(default_factory=lambda: _NONE)  # kind -> (free, all)

    @property
    def nodes(self) -> int:
        return self.nodes_idle + self.nodes_mixed + self.nodes_full + self.nodes_down

    @property
    def gpus_free(self) -> int:
        return sum(free for free, _ in self.gpus.values())

    def plus(self, other: "Free") -> "Free":
        gpus = {
            kind: tuple(map(sum, zip(self.gpus.get(kind, (0, 0)), other.gpus.get(kind, (0, 0)), strict=True)))
            for kind in {**self.gpus, **other.gpus}
        }
        return Free(
            nodes_idle=self.nodes_idle + other.nodes_idle,
            nodes_mixed=self.nodes_mixed + other.nodes_mixed,
            nodes_full=self.nodes_full + other.nodes_full,
            nodes_down=self.nodes_down + other.nodes_down,
            cores_free=self.cores_free + other.cores_free,
            cores=self.cores + other.cores,
            gpus={kind: (pair[0], pair[1]) for kind, pair in gpus.items()},
        )


@dataclass(frozen=True, kw_only=True)
class Maintenance:
    name: str
    starts: float  # seconds since 1970
    ends: float


@dataclass(frozen=True, kw_only=True)
class NodeKind:
    """Nodes of one partition that are alike."""

    nodes: int | None = None  # how many there are
    cores: int | None = None  # of one node, as those below
    memory_mb: int | None = None
    gpus: tuple[tuple[str, int], ...] = ()  # (kind, how many)


@dataclass(frozen=True, kw_only=True)
class QueueView:
    """One partition for people. None: not known."""

    name: str
    is_default: bool = False
    for_tests: bool = False
    whole_nodes: bool = False
    preempts: bool = False  # jobs there may be pushed out
    closed: str | None = None  # why jobs of yours do not go there
    max_time: timedelta | None = None
    default_time: timedelta | None = None
    max_nodes: int | None = None  # of one job
    min_nodes: int = 1
    cores: int | None = None  # of one node, the most
    memory_mb: int | None = None
    gpus: tuple[tuple[str, int], ...] = ()  # (kind, on one node)
    kinds: tuple[NodeKind, ...] = ()  # of node
    accounts: tuple[str, ...] = ()  # that may use it; empty: all
    qos: tuple[str, ...] = ()
    purpose: str | None = None
    free: Free | None = None
    running: int | None = None
    waiting: int | None = None
    maintenance: Maintenance | None = None


@dataclass(frozen=True, kw_only=True)
class QosView:
    """One QOS that this user may name."""

    name: str
    is_default: bool = False
    max_time: timedelta | None = None
    max_running: int | None = None
    max_submitted: int | None = None
    max_gpus: int | None = None
    priority: int | None = None
    accounts: tuple[str, ...] = ()  # of yours that may use it


def make_views(
    site: Site, facts: Facts, *, free: Mapping[str, Free], counts: Mapping[str, tuple[int, int]], now: float
) -> tuple[QueueView, ...]:
    """In this order: open before closed, then most free GPUs, most free cores, and as the site file has them."""
    by_name: dict[str, list[Queue]] = {}
    for queue in make_queues(site, facts):
        by_name.setdefault(queue.name, []).append(queue)
    views = [
        _make_view(site, queues, facts, free=free.get(name), counts=counts.get(name) if counts else None, now=now)
        for name, queues in by_name.items()
    ]
    return tuple(sorted(views, key=_rank))


def pick_category(site: Site, views: Sequence[QueueView], category: str) -> tuple[QueueView, ...]:
    """Those that a project of this category may use; a partition that only Slurm knows is for all."""
    allowed = {one.name for one in site.list_partitions(category)}
    written = {one.name for one in site.partitions}
    return tuple(one for one in views if one.name in allowed or one.name not in written)


def list_categories(site: Site) -> tuple[str, ...]:
    """Those the site file names."""
    named = (site.category, *(one.category for one in site.partitions))
    return tuple(dict.fromkeys(name for name in named if name))


def find_maintenance(
    reservations: Sequence[Reservation] | None, partition: str, now: float, *, only_whole: bool = True
) -> Maintenance | None:
    """The next one, or the one that goes on, that takes the whole partition."""
    fitting = [
        one
        for one in reservations or ()
        if one.is_maintenance
        and one.ends > now
        and (one.all_nodes or partition in one.partitions_covered or (not only_whole and one.partition == partition))
    ]
    first = min(fitting, key=lambda one: one.starts, default=None)
    return None if first is None else Maintenance(name=first.name, starts=first.starts, ends=first.ends)


def make_qos_views(site: Site, facts: Facts) -> tuple[QosView, ...]:
    """What Slurm lets this user name; where it was not asked, what the file offers."""
    if facts.associations is None:
        return tuple(
            QosView(
                name=one.name,
                is_default=one.is_default,
                max_time=one.max_time,
                max_running=one.max_running,
                max_submitted=one.max_submitted,
                max_gpus=one.max_gpus,
                priority=one.priority,
            )
            for one in site.qos
            if not one.hidden
        )
    names = dict.fromkeys(name for one in facts.associations for name in one.qos)
    return tuple(sorted((_make_qos_view(name, facts) for name in names), key=lambda one: -(one.priority or 0)))


def _make_qos_view(name: str, facts: Facts) -> QosView:
    seen = facts.seen_qos(name)
    mine = [one for one in facts.associations or () if name in one.qos]
    per_user = seen.max_per_user if seen else {}
    return QosView(
        name=name,
        is_default=any(one.default_qos == name for one in mine),
        max_time=seen.max_time if seen else None,
        max_running=seen.max_jobs if seen else None,
        max_submitted=seen.max_submit if seen else None,
        max_gpus=per_user.get("gres/gpu"),
        priority=seen.priority if seen else None,
        accounts=tuple(dict.fromkeys(one.account for one in mine)),
    )


def _make_view(
    site: Site, queues: Sequence[Queue], facts: Facts, *, free: Free | None, counts: tuple[int, int] | None, now: float
) -> QueueView:
    first = queues[0]
    written, seen = site.partition(first.name), facts.partition(first.name)
    kinds = {(one.gpu or "", one.gpus) for one in queues if one.gpus}
    running, waiting = counts if counts is not None else (0, 0) if free is not None else (None, None)
    return QueueView(
        name=first.name,
        is_default=first.is_default,
        for_tests=first.for_tests,
        whole_nodes=first.whole_nodes,
        preempts=bool(seen and seen.preempts),
        closed=(site.find_closed(written) if written else None) or first.forbidden or _find_down(seen),
        max_time=first.max_time,
        default_time=first.default_time,
        max_nodes=_find_most_nodes(queues, seen),
        min_nodes=first.min_nodes,
        cores=max((one.cores for one in queues if one.cores), default=None),
        memory_mb=max((one.memory_mb for one in queues if one.memory_mb), default=None),
        gpus=tuple(sorted(kinds)),
        kinds=tuple(_make_kind(one) for one in queues),
        accounts=first.accounts,
        qos=(seen.allow_qos if seen else ()) or (written.qos if written else ()),
        purpose=written.purpose if written else None,
        free=free,
        running=running,
        waiting=waiting,
        maintenance=find_maintenance(facts.reservations, first.name, now),
    )


def _make_kind(queue: Queue) -> NodeKind:
    gpus = ((queue.gpu or "", queue.gpus),) if queue.gpus else ()
    return NodeKind(nodes=queue.count, cores=queue.cores, memory_mb=queue.memory_mb, gpus=gpus)


def _find_most_nodes(queues: Sequence[Queue], seen: SeenPartition | None) -> int | None:
    """Of one job; a queue of its own for each kind of node knows only the nodes of that kind."""
    live = (seen.max_nodes or seen.nodes) if seen else None
    return live or max((one.max_nodes for one in queues if one.max_nodes), default=None)


def _find_down(seen: SeenPartition | None) -> str | None:
    return None if seen is None or seen.state.upper() == "UP" else f"it is {seen.state} now: jobs wait"


def _rank(view: QueueView) -> tuple[bool, int, int]:
    free = view.free or Free()
    return view.closed is not None, -free.gpus_free, -free.cores_free
