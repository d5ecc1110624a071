"""How a job lies on pretended nodes: tasks, CPUs, memory and GPUs of each. Pure."""

from dataclasses import dataclass

from windlass.pocket.errors import PocketError
from windlass.pocket.model import Request, Share

_NOT_AVAILABLE = "Requested node configuration is not available"


@dataclass(frozen=True, kw_only=True)
class Machine:
    cpus: int
    memory_mb: int
    gpus: int = 0
    gpu_type: str = ""  # empty: jobs may name any type
    whole_nodes: bool = False  # jobs get nodes whole, whatever they ask for
    unasked_gpus: int = 0  # of each node, for jobs that ask by a constraint only
    counts_gpus_by_node: bool = False  # each pretended node has a GPU 0


def make_layout(request: Request, machine: Machine) -> tuple[Share, ...]:
    """The smallest layout that satisfies the request."""
    tasks = spread_tasks(request)
    shares = tuple(_make_share(request, machine, count, len(tasks)) for count in tasks)
    if request.gpus is not None and request.gpus_per_node is None:
        each, left = divmod(request.gpus, len(tasks))
        counts = [each + (1 if index < left else 0) for index in range(len(tasks))]
        shares = tuple(_make_share(request, machine, t, len(tasks), g) for t, g in zip(tasks, counts, strict=True))
    return shares


def spread_tasks(request: Request) -> list[int]:
    """Tasks of each node, in blocks: the first nodes have one more where it does not come out even."""
    per_node, ntasks = request.ntasks_per_node, request.ntasks
    if ntasks is None and request.gpus_per_task and request.gpus:
        ntasks = max(1, request.gpus // request.gpus_per_task)
    nodes = request.min_nodes or (-(-ntasks // per_node) if ntasks and per_node else 1)
    if ntasks is None:
        return [per_node or 1] * nodes
    nodes = min(nodes, ntasks)
    each, left = divmod(ntasks, nodes)
    return [each + (1 if index < left else 0) for index in range(nodes)]


def complaints(request: Request, layout: tuple[Share, ...], machine: Machine) -> list[str]:
    """Why the job could never run here; empty when it could."""
    found: list[str] = []
    cpus = sum(share.cpus for share in layout)
    memory = sum(share.memory_mb for share in layout)
    gpus = sum(share.gpus for share in layout)
    if cpus > machine.cpus:
        found.append(f"{cpus} CPUs asked, {machine.cpus} here")
    if memory > machine.memory_mb:
        found.append(f"{memory} MB of memory asked, {machine.memory_mb} MB here")
    if gpus > machine.gpus:
        found.append(f"{gpus} GPUs asked, {machine.gpus} here")
    elif gpus and request.gpu_type and machine.gpu_type and request.gpu_type != machine.gpu_type:
        found.append(f"GPUs of type {request.gpu_type} asked, {machine.gpu_type} here")
    return found


def check_fits(request: Request, layout: tuple[Share, ...], machine: Machine) -> None:
    found = complaints(request, layout, machine)
    if not found:
        return
    words = []
    if "CPUs" in found[0]:
        words.append("CPU count per node can not be satisfied")
    if any("memory" in text for text in found):
        words.append("Memory specification can not be satisfied")
    raise PocketError(*words, _NOT_AVAILABLE, f"pocket is one machine, all nodes of a job together: {', '.join(found)}")


def _make_share(request: Request, machine: Machine, tasks: int, nodes: int, gpus: int | None = None) -> Share:
    if gpus is None:
        gpus = request.gpus_per_node or tasks * (request.gpus_per_task or 0) or machine.unasked_gpus
    cpus = 1 if request.overcommits else tasks * (request.cpus_per_task or 1)
    if request.cpus_per_gpu and gpus:
        cpus = max(cpus, gpus * request.cpus_per_gpu)
    cpus = max(cpus, request.min_cpus or 0)
    if request.is_exclusive or machine.whole_nodes:
        cpus = max(cpus, machine.cpus // nodes)
    return Share(tasks=tasks, cpus=cpus, memory_mb=_memory(request, machine, cpus, gpus, nodes), gpus=gpus)


def _memory(request: Request, machine: Machine, cpus: int, gpus: int, nodes: int) -> int:
    if request.memory_mb == 0:
        return machine.memory_mb // nodes
    if request.memory_mb is not None:
        return request.memory_mb
    if request.memory_per_cpu_mb is not None:
        return request.memory_per_cpu_mb * cpus
    return (request.memory_per_gpu_mb or 0) * gpus
