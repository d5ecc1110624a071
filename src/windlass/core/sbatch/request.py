"""What a batch script asks for, in the words of a run file and of a plan."""

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from windlass.core.cost import make_cost
from windlass.core.plan import Plan
from windlass.core.run import Resources, RunSpec
from windlass.core.sbatch.script import Script
from windlass.core.sbatch.values import read_digits, read_megabytes, read_minutes, read_node_counts, read_number
from windlass.core.sbatch.verdict import Gpus, read_gpus, read_gres
from windlass.core.site import GpuDialect, Site
from windlass.core.size import Size
from windlass.core.units import MAX_DURATION

_CHAIN = re.compile(r"(\d{1,7})-(\d{1,7})%1", re.ASCII)  # Slurm's arrays end at 4,000,001

_LONGEST_CHAIN = 100_000  # of jobs of ten years each


@dataclass(frozen=True, kw_only=True)
class Request:
    """Numbers of one job; None where the script says nothing that can be read."""

    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    cpus_per_task: int | None = None
    gpus_per_node: int | None = None
    gpu_kind: str | None = None
    memory_mb: int | None = None  # of one node; 0: all
    time: timedelta | None = None
    links: int = 1  # of a chain `1-N%1`
    array: str | None = None  # an array that is no chain
    exclusive: bool = False
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    dependency: str | None = None
    exclude: str | None = None
    requeue: bool | None = None


def read_request(script: Script) -> Request:
    """From the options that count. A value that sbatch would refuse is left out."""
    values = {one.name: one.value for one in script.options}
    nodes = _read_nodes(values.get("nodes", ""))
    tasks = read_number(values.get("ntasks", ""))
    per_node = read_number(values.get("ntasks-per-node", ""))
    if per_node is None and tasks is not None:
        per_node = -(-tasks // (nodes or 1))
    cpus = read_number(values.get("cpus-per-task", ""))
    gpus, kind = _read_gpus(values, nodes or 1, per_node or 1)
    if cpus is None and "cpus-per-gpu" in values and gpus:
        cpus = (read_number(values["cpus-per-gpu"]) or 1) * gpus // max(1, per_node or 1)
    chain = _CHAIN.fullmatch(values.get("array", ""))
    return Request(
        nodes=nodes,
        tasks=tasks,
        tasks_per_node=per_node,
        cpus_per_task=cpus,
        gpus_per_node=gpus,
        gpu_kind=kind,
        memory_mb=_read_memory(values, (per_node or 1) * (cpus or 1), gpus or 0),
        time=_read_time(values.get("time", "")),
        links=_read_links(chain) or 1,
        array=values.get("array") if not _read_links(chain) else None,
        exclusive="exclusive" in values,
        account=values.get("account") or None,
        partition=values.get("partition") or None,
        qos=values.get("qos") or None,
        constraint=values.get("constraint") or None,
        reservation=values.get("reservation") or None,
        dependency=values.get("dependency") or None,
        exclude=values.get("exclude") or None,
        requeue=_last_of(script, "requeue", "no-requeue"),
    )


def make_spec(request: Request, *, name: str, command: str) -> RunSpec:
    """The run file that asks for the same."""
    total = request.time * request.links if request.time is not None else None
    return RunSpec(
        name=name,
        command=command,
        resources=Resources(
            nodes=request.nodes,
            gpus_per_node=request.gpus_per_node,
            gpu=request.gpu_kind,
            cpus=request.cpus_per_task,
            memory_mb=request.memory_mb,
            time=total,
            link_time=request.time if request.links > 1 else None,
            exclusive=request.exclusive or None,
            constraint=request.constraint,
            reservation=request.reservation,
            dependency=request.dependency,
            exclude=request.exclude,
            account=request.account,
            partition=request.partition,
            qos=request.qos,
        ),
    )


def make_scripted_plan(request: Request, site: Site, *, name: str, folder: str, command: str) -> Plan:
    """The script as if it had been planned: nothing is chosen, only what a site's defaults would fill in."""
    partition = request.partition or next((one.name for one in site.partitions if one.is_default), None)
    time = request.time or timedelta(hours=1)
    cpus, per_node, nodes = request.cpus_per_task or 1, request.tasks_per_node or 1, request.nodes or 1
    gpus = request.gpus_per_node or 0
    size = Size(nodes=nodes, cores=nodes * per_node * cpus, gpus=nodes * gpus)
    return Plan(
        run_id=name,
        site=site.name,
        folder=folder,
        command=command,
        account=request.account,
        partition=partition,
        qos=request.qos,
        reservation=request.reservation,
        dependency=request.dependency,
        exclude=request.exclude,
        constraint=request.constraint,
        nodes=nodes,
        tasks_per_node=per_node,
        cpus_per_task=cpus,
        gpus_per_node=gpus,
        gpu_spelled=request.gpu_kind,
        gpu_dialect=site.rules.gpu_dialect if gpus else GpuDialect.NONE,
        memory_mb=request.memory_mb,
        exclusive=request.exclusive,
        requeue=bool(request.requeue),
        links=request.links,
        link_time=time,
        total_time=time * request.links,
        cost=make_cost(size, link_time=time, links=request.links, accounting=site.accounting),
    )


def _read_nodes(text: str) -> int | None:
    try:
        return read_node_counts(text)[0] if text else None
    except ValueError:
        return None


def _read_links(chain: re.Match[str] | None) -> int | None:
    """None: no chain, or one longer than a calendar can tell."""
    links = read_digits(chain[2]) - read_digits(chain[1]) + 1 if chain else 0
    return links if 0 < links <= _LONGEST_CHAIN else None


def _read_time(text: str) -> timedelta | None:
    try:
        minutes = read_minutes(text)
    except ValueError:
        return None
    time = timedelta(minutes=minutes) if minutes and minutes < MAX_DURATION.total_seconds() // 60 else None
    return time if time and time <= MAX_DURATION else None


def _read_gpus(values: dict[str, str], nodes: int, tasks_per_node: int) -> tuple[int | None, str | None]:
    """Of one node, and their kind."""
    for name, found in read_gres(values.get("gres", "")) or ():
        if name == "gpu":
            return _sum(found), _kind(found)
    for name, factor in (("gpus-per-node", 1), ("gpus", Fraction(1, nodes)), ("gpus-per-task", tasks_per_node)):
        asked = read_gpus(values.get(name, ""))
        if asked:
            return max(1, round(_sum(asked) * factor)), _kind(asked)
    return None, None


def _sum(gpus: tuple[Gpus, ...]) -> int:
    return sum(one.count for one in gpus)


def _kind(gpus: tuple[Gpus, ...]) -> str | None:
    return gpus[0].kind or None


def _read_memory(values: dict[str, str], cores: int, gpus: int) -> int | None:
    for name, factor in (("mem", 1), ("mem-per-cpu", cores), ("mem-per-gpu", gpus)):
        if name in values:
            try:
                return read_megabytes(values[name]) * factor
            except ValueError:
                return None
    return None


def _last_of(script: Script, yes: str, no: str) -> bool | None:
    found = script.all_of(yes, no)
    return found[-1].name == yes if found else None
