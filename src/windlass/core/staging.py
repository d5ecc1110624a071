"""Where jobs read their data: in memory, on the node's own disk, or where it lies. By its size and the site's rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windlass.core.case import DataSeen
from windlass.core.facts import Facts
from windlass.core.plan import PlannedData, Reason
from windlass.core.run import Data, RunSpec, Staging
from windlass.core.site import Site
from windlass_job import wire

IN_MEMORY_GB = 10.0  # what centres advise, where a site does not say
ON_NODE_GB = 100.0
_MEMORY_SHARE = 0.25  # of the job's memory: the training needs the rest
_DISK_SHARE = 0.9
_UNPACKED = 2.2  # a set and its files, each of which begins a new block
_GB = 1e9


@dataclass(frozen=True, kw_only=True)
class Taken:
    """Room of a node that other data sets of the same run will need."""

    memory_gb: float = 0.0
    disk_gb: float = 0.0

    def add(self, stage: Staging, gigabytes: float) -> "Taken":
        if stage is Staging.MEMORY:
            return replace(self, memory_gb=self.memory_gb + gigabytes)
        return replace(self, disk_gb=self.disk_gb + gigabytes) if stage is Staging.NODE else self


_NOTHING_TAKEN = Taken()


def plan_data(
    spec: RunSpec,
    site: Site,
    facts: Facts,
    *,
    run_folder: str,
    memory_mb: int | None,
    disk_gb: float | None,
    seen: Sequence[DataSeen],
) -> tuple[tuple[PlannedData, ...], tuple[Reason, ...]]:
    """Each data set of the run, and why it is read where it is."""
    known_by_name = {one.name: one for one in seen}
    sizes = {name: one.bytes for name, one in known_by_name.items() if not one.is_partial}
    choices = _choose_stages(spec.data, sizes, site, memory_mb=memory_mb, disk_gb=disk_gb)
    planned, reasons = [], []
    for name, data in list_in_turn(spec.data):  # the order in which the job gives them room, which knows no wishes
        known = known_by_name.get(name)
        stage, why = choices[name]
        path = find_path(data, site, facts, run_folder)
        planned.append(
            PlannedData(
                name=name,
                source=data.source,
                path=path,
                stage=stage if "://" not in path else Staging.SHARED,
                extract=data.extract,
                bytes=sizes.get(name),
                files=known.files if known is not None else None,
            )
        )
        if data.stage is Staging.AUTO:
            reasons.append(Reason(field=f"data.{name}", value=stage.value, why=why))
    return tuple(planned), tuple(reasons)


def _choose_stages(
    wanted: Mapping[str, Data],
    sizes: Mapping[str, int | None],
    site: Site,
    *,
    memory_mb: int | None,
    disk_gb: float | None,
) -> dict[str, tuple[Staging, str]]:
    """They share the room of a node."""
    choices, taken = {}, _NOTHING_TAKEN
    for name, data in list_in_turn(wanted):
        size = sizes.get(name)
        choices[name] = stage, _ = choose_stage(
            size, site, memory_mb=memory_mb, disk_gb=disk_gb, wanted=data.stage, extract=data.extract, taken=taken
        )
        taken = taken.add(stage, count_need_gb(size or 0, extract=data.extract))
    return choices


def list_in_turn(wanted: Mapping[str, Data]) -> list[tuple[str, Data]]:
    """As jobs give them room: what must be copied, what the run file says, and then what is left to us."""
    return sorted(wanted.items(), key=lambda one: (not one[1].extract, one[1].stage is Staging.AUTO))


def count_need_gb(data_bytes: int, *, extract: bool) -> float:
    return data_bytes / _GB * (_UNPACKED if extract else 1)


def choose_stage(
    data_bytes: int | None,
    site: Site,
    *,
    memory_mb: int | None,
    disk_gb: float | None,
    wanted: Staging = Staging.AUTO,
    extract: bool = False,
    taken: Taken = _NOTHING_TAKEN,
) -> tuple[Staging, str]:
    """memory_mb: of the job on one node. disk_gb: of a node. None: not known; without a size the job decides."""
    if wanted is not Staging.AUTO:
        return wanted, "as the run file says"
    if site.is_local and not extract:
        return Staging.SHARED, "it lies on this machine already"
    if data_bytes is None:
        return Staging.AUTO, "its size is not known here: the job decides by what it finds"
    need = count_need_gb(data_bytes, extract=extract)
    in_memory, on_node = get_limits_gb(site)
    memory = memory_mb * 1024**2 / _GB if memory_mb else 0.0
    told = f"{data_bytes / _GB:.1f} GB"
    if need <= in_memory and need + taken.memory_gb <= memory * _MEMORY_SHARE:
        return Staging.MEMORY, f"{told} are at most {in_memory:g} GB, and a quarter of the job's memory"
    if disk_gb is not None and need + taken.disk_gb > disk_gb * _DISK_SHARE:
        return Staging.SHARED, f"{told} do not fit onto a node's disk of {disk_gb:g} GB{tell_taken(taken.disk_gb)}"
    if need <= on_node:
        return Staging.NODE, f"{told} are at most {on_node:g} GB, and are read while they are copied"
    return Staging.SHARED, f"{told} are more than the {on_node:g} GB that go onto a node"


def tell_taken(gigabytes: float) -> str:
    return f", {gigabytes:.1f} GB of them for other data" if gigabytes else ""


def get_limits_gb(site: Site) -> tuple[float, float]:
    """Up to how much goes into memory, and onto the node's disk."""
    in_memory, on_node = site.rules.data_in_memory_gb, site.rules.data_on_node_gb
    return IN_MEMORY_GB if in_memory is None else in_memory, ON_NODE_GB if on_node is None else on_node


def find_path(data: Data, site: Site, facts: Facts, run_folder: str) -> str:
    """At the site, with its variables as they are written."""
    if data.set_name is not None:
        known = facts.data_set(data.set_name)
        return known.path if known is not None else f"{facts.root or site.root}/{wire.DATA}/{data.set_name}"
    if data.source.startswith(("/", "$", "~")) or "://" in data.source:
        return data.source
    return f"{run_folder}/{wire.CODE}/{data.source.removeprefix('./')}"


def find_local_disk_gb(site: Site, partition: str | None) -> float | None:
    """The least of those nodes a job may get there."""
    found = site.partition(partition or "")
    types = [site.node_type(name) for name in (found.nodes if found else ())]
    return min((one.local_disk_gb for one in types if one is not None and one.local_disk_gb is not None), default=None)
