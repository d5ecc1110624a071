"""GPUs and nodes that a run had and did not use, or could not feed."""

import math
import re
from collections.abc import Iterator, Sequence

from windlass.core.efficiency.usage import Usage, find_mean
from windlass.core.ending.symptoms import set_to
from windlass.core.finding import Advice, Setting
from windlass.core.gauges.idleness import is_idle
from windlass.core.gauges.series import GpuGauges, NodeSeries
from windlass.core.units import count_gb

_STARVED = 30.0  # percent
_HALF = 50.0
_SMALL_SHARE = 0.25  # of a GPU's memory
_ONE_CORE = (0.6, 1.6)  # busy cores of a process that does everything in one thread
_WELL_FED = 0.1  # of the time a training waits: then its loader is not to blame
_MOST_WORKERS = 8
_IDLE_CORES = 0.1
_GB = 1024
_WORKERS = re.compile(r"(?P<option>--(?:num[-_]|n[-_]|data[-_]|loader[-_])*workers|-j)(?P<gap>[= ]+)(?P<number>\d+)\b")


def some_gpus_idle(usage: Usage) -> Iterator[Advice]:
    """Some GPUs of a node worked and others never did: the program knows of fewer than it was given.

    A program uses one GPU unless it was made for several, with a process for each.
    """
    plan = usage.plan
    idle = [gpu for gpu in usage.gpus if is_idle(gpu)]
    used = [gpu for gpu in usage.gpus if gpu.use and not is_idle(gpu)]
    if plan is None or not idle or not used or len(idle) + len(used) != plan.gpus:
        return
    hours = len(idle) * usage.seen_s / 3600
    yield Advice(
        code="A201",
        message=f"{plan.gpus} GPUs asked for, {len(used)} used; {len(idle)} never did anything",
        evidence=tuple(_tell_gpus(usage)),
        saves=f"{hours:.1f} GPU-hours",
        hint=_tell_how_to_use_all(usage),
        patch=(set_to("resources.gpus", len(used)),) if plan.nodes == 1 else (),
    )


def no_gpu_used(usage: Usage) -> Iterator[Advice]:
    """None of the GPUs was used at all: the training ran on the CPU.

    Mostly the build of the framework has no CUDA, or the model was never moved to the GPU. `windlass logs` may tell.
    """
    gpus = usage.gpus
    if not gpus or not all(is_idle(gpu) for gpu in gpus) or any((gpu.memory_mb.most or 0) > 4 * _GB for gpu in gpus):
        return
    hours = len(gpus) * usage.seen_s / 3600
    yield Advice(
        code="A202",
        message=f"{len(gpus)} GPU{'s' if len(gpus) > 1 else ''} asked for, none used: the training ran on the CPU",
        evidence=tuple(_tell_gpus(usage)),
        saves=f"{hours:.1f} GPU-hours",
        hint="torch.cuda.is_available() in the run's environment; if it needs none, leave [resources] gpus out",
    )


def one_core_feeds_gpus(usage: Usage) -> Iterator[Advice]:
    """The GPUs mostly wait while each process keeps one CPU core busy: loading and decoding is all done in one thread.

    More workers of the data loader use the other cores. The advice never asks for more workers than the process has
    cores besides its own; where it has none, for more cores.
    """
    plan, use, cores, busy = usage.plan, usage.gpu_use, usage.cores, usage.cpu_cores
    if plan is None or use is None or cores is None or busy is None or use >= _STARVED:
        return
    if usage.wait_share is not None and usage.wait_share < _WELL_FED:
        return
    processes = max(1, plan.processes_per_node)
    if not _ONE_CORE[0] <= busy / processes <= _ONE_CORE[1]:
        return
    wanted = max(2, min(_MOST_WORKERS, math.ceil(_HALF * 2 / max(use, 1.0))))
    free = cores // processes - 1
    workers = min(wanted, free)
    patch, hint = _more_workers(plan.command, workers) if free >= 2 else ((), None)
    if free < 2:
        patch = (set_to("resources.cpus", (wanted + 1) * max(1, processes // max(1, plan.tasks_per_node))),)
        hint = f"num_workers={wanted} for the data loader, which then has cores to run on"
    yield Advice(
        code="A203",
        message=f"the GPUs were {use:.0f} % busy while {busy:.1f} of {cores} CPU cores were",
        evidence=tuple(_tell_cores(usage.nodes)),
        saves=f"the GPUs waited {100 - use:.0f} % of {usage.seen_s / 3600:.1f} h",
        hint=hint,
        patch=patch,
    )


def little_gpu_memory(usage: Usage) -> Iterator[Advice]:
    """The GPUs were half idle, and less than a quarter of their memory was ever used: the work is small for them.

    A larger batch fills a GPU; where the work stays small, several runs share one with `launcher = "mps"`, and a
    smaller kind of GPU is sooner free. Nothing is written into windlass.toml: a batch changes what a training learns.
    """
    told = [gpu for gpu in usage.gpus if gpu.use and gpu.memory_total_mb and not gpu.is_slice and not is_idle(gpu)]
    shares = [(gpu.memory_mb.most or 0) / gpu.memory_total_mb for gpu in told if gpu.memory_total_mb]
    use = find_mean([gpu.use for gpu in told])
    if not shares or use is None or use >= _HALF or max(shares) >= _SMALL_SHARE:
        return
    yield Advice(
        code="A204",
        message=f"the GPUs were {use:.0f} % busy, and at most {100 * max(shares):.0f} % of their memory was used",
        evidence=tuple(_tell_gpus(usage)),
        saves=f"with a batch {math.floor(0.8 / max(max(shares), 0.01))} times as large the memory would still do",
        hint='a larger batch; or launcher = "mps" for several runs on one GPU; or a smaller [resources] gpu',
    )


def idle_nodes(usage: Usage) -> Iterator[Advice]:
    """Some nodes of a run did nothing at all: the command started no process there.

    A plain command runs on the first node only. A launcher starts it on all of them.
    """
    plan = usage.plan
    idle = [node for node in usage.nodes if _did_nothing(node)]
    busy = len(usage.nodes) - len(idle)
    if plan is None or plan.nodes < 2 or not idle or not busy:
        return
    key, value = ("resources.gpus", busy * plan.gpus_per_node) if plan.gpus else ("resources.nodes", busy)
    yield Advice(
        code="A205",
        message=f"{plan.nodes} nodes asked for, {busy} used",
        evidence=tuple(f"{node.node}: {node.cpu_cores.mean or 0:.1f} cores busy" for node in usage.nodes),
        saves=f"{len(idle) * usage.seen_s / 3600:.1f} node-hours",
        hint='to use all of them instead: launcher = "torchrun" or "srun"',
        patch=(set_to(key, value),),
    )


def _did_nothing(node: NodeSeries) -> bool:
    mean = node.cpu_cores.mean
    return mean is not None and mean < _IDLE_CORES and all(is_idle(gpu) for gpu in node.gpus)


def _more_workers(command: str, workers: int) -> tuple[tuple[Setting, ...], str | None]:
    """The command with more of them where it says how many; else what to write into the code."""
    found = _WORKERS.search(command)
    if found is None or "workers" not in found["option"]:
        return (), f"num_workers={workers} for the data loader; `loader` of windlass_job.data uses all cores by itself"
    if int(found["number"]) >= workers:
        return (), f"it has {found['number']} workers already: see what else it does in one thread"
    changed = command[: found.start("number")] + str(workers) + command[found.end("number") :]
    return (set_to("run.command", changed),), None


def _tell_how_to_use_all(usage: Usage) -> str | None:
    if usage.plan is None or usage.plan.launcher != "single":
        return None
    return 'to use them all instead: a process for each, with launcher = "torchrun" and a training made for several'


def _tell_gpus(usage: Usage) -> Iterator[str]:
    for node in usage.nodes:
        for place, gpu in enumerate(node.gpus):
            memory = f"; memory at most {_tell_gb(gpu)}" if gpu.memory_mb else ""
            if gpu.use:
                busy = f"{gpu.use.mean or 0:.0f} % busy, at most {gpu.use.most or 0:.0f} %"
                yield f"{node.node}, GPU {place}: {busy}{memory}"


def _tell_gb(gpu: GpuGauges) -> str:
    total = f" of {count_gb(gpu.memory_total_mb):.0f}" if gpu.memory_total_mb else ""
    return f"{count_gb(gpu.memory_mb.most or 0):.1f}{total} GB"


def _tell_cores(nodes: Sequence[NodeSeries]) -> Iterator[str]:
    for node in nodes:
        full = node.full_cores.mean
        words = f"; {full:.0f} of them at 100 %" if full is not None and full >= 0.5 else ""
        if node.cpu_cores:
            yield f"{node.node}: {node.cpu_cores.mean or 0:.1f} of {node.cores} cores busy{words}"
