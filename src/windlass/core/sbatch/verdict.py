"""What sbatch refuses about options that are right by themselves: GPUs, and options that exclude each other.

Its checks of generic resources run in the client, against the kinds that slurm.conf names; `gpu` is at every centre
with GPUs, and the few others here come with Slurm.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from windlass.core.sbatch.values import MEMORY_OPTIONS, read_digits, read_node_counts, read_number

GRES_KINDS = ("gpu", "mps", "shard", "nic", "craynetwork")
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task")
_BAD_GRES = "Invalid generic resource (gres) specification"
_MIXED = "Invalid GRES specification (with and without type identification)"
_COUNT = re.compile(r"\s*[+-]?\d+[kmgtp]?", re.IGNORECASE)
_MOST_HOSTS = 100_000
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4, "p": 1024**5}

Conflict = tuple[tuple[str, ...], str]  # the options it is about, and sbatch's words


@dataclass(frozen=True)
class Gpus:
    kind: str  # "" where none is named
    count: int


def find_conflict(options: Mapping[str, str]) -> Conflict | None:
    """The first thing sbatch would say."""
    return next(iter(_find_conflicts(options)), None)


def read_gpus(text: str) -> tuple[Gpus, ...] | None:
    """`2`, `a100`, `a100:2`, `a100:2,v100:1`; None when sbatch would not read it."""
    found = []
    for item in text.split(","):
        if not item:
            continue
        kind, colon, count = item.rpartition(":")
        if not colon:
            found.append(_read_last(item))
        elif not kind or ":" in kind or not _COUNT.fullmatch(count):
            return None
        else:
            found.append(Gpus(kind, read_count(count)))
    return tuple(found)


def read_gres(text: str) -> tuple[tuple[str, tuple[Gpus, ...]], ...] | None:
    """Kinds of resource with what is asked of each; None when sbatch would not read it."""
    if text.lower() == "none":
        return ()
    found = []
    for item in text.split(","):
        if not item:
            continue
        name, colon, rest = item.removeprefix("gres:").partition(":")
        asked = read_gpus(rest) if rest or not colon else None
        if asked is None or name not in GRES_KINDS:
            return None
        found.append((name, asked or (Gpus("", 1),)))
    return tuple(found)


def read_count(text: str) -> int:
    word = text.strip().lower()
    return read_digits(word.rstrip("kmgtp")) * _UNITS.get(word[-1], 1)


def _read_last(item: str) -> Gpus:
    """A word alone is a number or a kind; sbatch takes what begins like a number for one."""
    if _COUNT.fullmatch(item):
        return Gpus("", read_count(item))
    return Gpus(item, 1)


def _find_conflicts(options: Mapping[str, str]) -> Iterator[Conflict]:
    memory = tuple(name for name in MEMORY_OPTIONS if name in options)
    if len(memory) > 1:
        yield memory, "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."
    if {"core-spec", "thread-spec"} <= options.keys():
        yield ("thread-spec",), "-S/--core-spec and --thred-spec options are mutually exclusive"
    for name in ("gpus-per-task", "ntasks-per-node"):
        if name in options and "ntasks-per-gpu" in options:
            yield ("ntasks-per-gpu",), f"--{name} is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU"
    yield from _find_node_conflicts(options)
    yield from _find_gpu_conflicts(options)


def _find_node_conflicts(options: Mapping[str, str]) -> Iterator[Conflict]:
    named = _count_hosts(options.get("nodelist", ""))
    fewest, most = _nodes(options)
    if most and named > most:
        yield ("nodelist",), f"invalid number of nodes (-N {max(named, fewest)}-{most})"
    if options.get("distribution", "").startswith("arbitrary") and not {"nodelist", "nodefile"} & options.keys():
        yield (
            ("distribution",),
            "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option",
        )


def _find_gpu_conflicts(options: Mapping[str, str]) -> Iterator[Conflict]:
    gres = read_gres(options["gres"]) if "gres" in options else ()
    asked = {name: read_gpus(options[name]) for name in GPU_OPTIONS if name in options}
    if gres is None:
        yield ("gres",), _BAD_GRES
        return
    for name, gpus in asked.items():
        if gpus is None:
            yield (name,), _BAD_GRES
            return
    by_gres = tuple(one for name, found in gres if name == "gpu" for one in found)
    every = (*by_gres, *(one for gpus in asked.values() for one in gpus or ()))
    about = (*asked, "gres")
    if len({bool(one.kind) for one in every if one.count}) > 1:
        yield about, _MIXED
        return
    yield from _find_count_conflicts(options, by_gres, asked)


def _find_count_conflicts(
    options: Mapping[str, str], by_gres: tuple[Gpus, ...], asked: Mapping[str, tuple[Gpus, ...] | None]
) -> Iterator[Conflict]:
    total, per_node, per_task = (
        _sum(asked.get("gpus")),
        _sum(asked.get("gpus-per-node")) or _sum(by_gres),
        _sum(asked.get("gpus-per-task")),
    )
    tasks = read_number(options.get("ntasks", ""))
    fewest, most = _nodes(options)
    if "cpus-per-gpu" in options and "cpus-per-task" in options:
        yield ("cpus-per-gpu",), "--cpus-per-gpu is mutually exclusive with --cpus-per-task"
    if "mem-per-gpu" in options and not (total or per_node or per_task or asked.get("gpus-per-socket")):
        yield ("mem-per-gpu",), f"Requested mem_per_tres=gres:gpu:{options['mem-per-gpu']} but did not request any GPU."
    if "gpus-per-socket" in options and "sockets-per-node" not in options:
        yield ("gpus-per-socket",), "--gpus-per-socket option requires --sockets-per-node specification"
    if per_task and not total and _count_tasks(options) is None:
        yield (
            ("gpus-per-task",),
            "Failed to validate job spec. --gpus-per-task used without either --gpus or -n/--ntasks is not allowed.",
        )
    if total > 0 and per_node > 0:
        yield from _compare_with_nodes(total, per_node, fewest, most, has_nodes="nodes" in options)
    if total > 0 and fewest > total:
        yield ("gpus",), "Failed to validate job spec, --gpus < -N"
    if total > 0 and per_task > 0:
        if total % per_task:
            yield ("gpus-per-task",), "Failed to validate job spec, --gpus not multiple of --gpus-per-task"
        elif (tasks := _count_tasks(options)) is not None and tasks * per_task != total:
            yield (
                ("gpus-per-task",),
                "Failed to validate job spec. Based on --gpus and --gpus-per-task number of requested tasks differ "
                "from -n/--ntasks.",
            )
    if per_node > 0 and per_task > 0:
        yield from _compare_per_node(per_node, per_task, read_number(options.get("ntasks-per-node", "")))
    per_gpu = options.get("ntasks-per-gpu") or options.get("ntasks-per-tres")
    if per_gpu and not (total or per_node):
        yield from _compare_with_tasks(read_number(per_gpu), tasks, has_nodes="nodes" in options)


def _compare_with_nodes(total: int, per_node: int, fewest: int, most: int, *, has_nodes: bool) -> Iterator[Conflict]:
    if total % per_node:
        yield ("gpus",), "Failed to validate job spec, --gpus is not multiple of --gres=gpu/--gpus-per-node"
    elif has_nodes and not fewest <= total // per_node <= most:
        yield (
            ("gpus",),
            f"Failed to validate job spec. Based on --gpu and --gres=gpu/--gpus-per-node required nodes "
            f"({total // per_node}) doesn't fall between min_nodes ({fewest}) and max_nodes ({most}) boundaries.",
        )


def _compare_per_node(per_node: int, per_task: int, tasks: int | None) -> Iterator[Conflict]:
    if per_node % per_task:
        yield (
            ("gpus-per-task",),
            "Failed to validate job spec, --gres=gpu/--gpus-per-node not multiple of --gpus-per-task.",
        )
    elif tasks is not None and tasks != per_node // per_task:
        yield (
            ("gpus-per-task",),
            "Failed to validate job spec. Based on --gres=gpu/--gpus-per-node and --gpus-per-task requested number of "
            "tasks per node differ from --ntasks-per-node.",
        )


def _compare_with_tasks(per_gpu: int | None, tasks: int | None, *, has_nodes: bool) -> Iterator[Conflict]:
    about = ("ntasks-per-gpu", "ntasks-per-tres")
    if tasks is None and not has_nodes:
        yield (
            about,
            "gres_job_state_validate: --ntasks-per-tres needs either a GRES GPU specification or a node/ntask "
            "specification",
        )
    elif tasks is not None and per_gpu and tasks % per_gpu:
        yield about, "Failed to validate job spec, -n/--ntasks has to be a multiple of --ntasks-per-gpu."


def _sum(gpus: tuple[Gpus, ...] | None) -> int:
    return sum(one.count for one in gpus or ())


def _count_tasks(options: Mapping[str, str]) -> int | None:
    """As sbatch fills it in: from nodes where their number is one, and not where it is a range."""
    tasks = read_number(options.get("ntasks", ""))
    if tasks is not None or not {"nodes", "ntasks-per-node"} & options.keys():
        return tasks
    fewest, most = _nodes(options) if "nodes" in options else (1, 1)
    return fewest * (read_number(options.get("ntasks-per-node", "")) or 1) if fewest == most else None


def _nodes(options: Mapping[str, str]) -> tuple[int, int]:
    """The fewest and the most; sbatch itself lowers them to the number of tasks."""
    try:
        fewest, most = read_node_counts(options.get("nodes", ""))
    except ValueError:
        return 0, 0
    most = fewest if most is None else most
    tasks = read_number(options.get("ntasks", ""))
    return (min(fewest, tasks), min(most, tasks)) if tasks else (fewest, most)


def _count_hosts(text: str) -> int:
    """Names in `node[1-3,7],other`; 0 when it is a file or cannot be read."""
    if not text or "/" in text:
        return 0
    names: set[str] = set()
    left = _MOST_HOSTS
    for item in re.findall(r"(?:\[[^\[\]]*\]|[^,\s])+", text):
        match = re.fullmatch(r"([^\[\]]*)\[([\d,-]+)\]([^\[\]]*)", item)
        if match is None:
            names.add(item)
            continue
        for part in match[2].split(","):
            first, _, last = part.partition("-")
            if not first.isdecimal() or (last and not last.isdecimal()):
                return 0
            left -= max(0, read_digits(last or first) - read_digits(first))
            if left < 0:
                return 0
            names |= {
                f"{match[1]}{number}{match[3]}" for number in range(read_digits(first), read_digits(last or first) + 1)
            }
    return len(names)
