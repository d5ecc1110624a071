"""Cutting a request down to what a machine has: the same run file for a supercomputer and for a laptop."""

from collections.abc import Iterator
from dataclasses import replace

from windlass.core.placing.queues import Queue
from windlass.core.plan import Reason
from windlass.core.run import WORDS_OF_A_CENTRE, Resources, RunSpec
from windlass.core.site import ModuleSystem, Site


def fit_to_site(spec: RunSpec, site: Site, queues: tuple[Queue, ...]) -> tuple[RunSpec, tuple[Reason, ...]]:
    """The spec as it is, unless the site says that it takes what it can."""
    if not site.rules.cuts_to_fit:
        return spec, ()
    resources, reasons = cut_to_fit(spec.resources, queues)
    spec = replace(spec, resources=resources)
    if spec.environment.modules and site.software.modules is ModuleSystem.NONE:
        why = "this machine has no modules; nothing is loaded"
        reasons += (Reason(field="modules", value="none", why=why, is_cut=True),)
        spec = replace(spec, environment=replace(spec.environment, modules=()))
    return spec, reasons


def cut_to_fit(asked: Resources, queues: tuple[Queue, ...]) -> tuple[Resources, tuple[Reason, ...]]:
    """Less where there is less, nothing where there is nothing; each cut with its reason."""
    room = max(queues, key=lambda queue: (queue.gpus, queue.cores or 0), default=Queue(name=""))
    names = {queue.name for queue in queues}
    fitting = replace(asked, **dict.fromkeys(WORDS_OF_A_CENTRE))
    if asked.partition in names:
        fitting = replace(fitting, partition=asked.partition)
    fitting = _cut_gpus(fitting, room)
    nodes = fitting.nodes or 1  # pretended: they share the one machine
    if room.cores is not None and (asked.cpus is not None or nodes > 1):
        fitting = replace(fitting, cpus=max(1, min(asked.cpus or room.cores, room.cores // nodes)))
    if room.memory_mb is not None and (asked.memory_mb is not None or nodes > 1):
        most = room.memory_mb // nodes
        fitting = replace(fitting, memory_mb=max(1, min(asked.memory_mb or most, most)))
    return fitting, tuple(_tell(asked, fitting))


def _cut_gpus(asked: Resources, room: Queue) -> Resources:
    """Nodes are only pretended on one machine, so all GPUs come from the same one."""
    wanted = (asked.nodes or 1) * asked.gpus_per_node if asked.gpus_per_node is not None else asked.gpus
    if wanted is None:
        wanted = 1 if asked.gpu is not None else 0
    if wanted == 0:
        return asked
    if room.gpus == 0:
        return replace(asked, gpus=None, gpus_per_node=None, gpu=None)
    if wanted <= room.gpus:
        return replace(asked, gpu=None)
    return replace(asked, nodes=1, gpus=None, gpus_per_node=room.gpus, gpu=None)


def _tell(asked: Resources, fitting: Resources) -> Iterator[Reason]:
    for name in ("nodes", "gpus", "gpus_per_node", "gpu", "cpus", "memory_mb", *WORDS_OF_A_CENTRE):
        before, after = getattr(asked, name), getattr(fitting, name)
        if before is not None and before != after:
            value = "none" if after is None else str(after)
            yield Reason(field=name, value=value, why=f"you ask for {before}; this machine has no more", is_cut=True)
