"""How many tasks run at once on a node, and which cores and GPUs each of them has."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

_BELOW = "ROCR_VISIBLE_DEVICES"
_SHOWN = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", _BELOW, "ZE_AFFINITY_MASK")
_ALWAYS_HIDDEN = ("CUDA_VISIBLE_DEVICES", _BELOW)
_CPUS_OF_SLURM = ("SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "SRUN_CPUS_PER_TASK")
_GPUS_OF_SLURM = ("SLURM_GPUS_ON_NODE", "SLURM_GPUS", "SLURM_GPUS_PER_NODE")

# What one task takes; share: how many of them are on one GPU.
Need = NamedTuple("Need", [("cpus", int), ("gpus", int), ("memory_mb", int), ("share", int)])
# What this node gives to the job. cores: empty where they are not its own: then tasks are not bound to any.
Node = NamedTuple("Node", [("cpus", int), ("cores", List[int]), ("gpus", List[str]), ("memory_mb", Optional[int])])
Slot = NamedTuple("Slot", [("number", int), ("cores", List[int]), ("gpus", List[str])])


def read_need(card: "Mapping[str, Any]") -> Need:
    """Of a farm's card."""
    cpus, gpus = max(1, card.get("cpus") or 1), card.get("gpus") or 0
    return Need(cpus, gpus, card.get("memory_mb") or 0, card.get("share") or 1)


def plan_slots(node: Node, need: Need) -> "List[Slot]":
    """As many as fit, and at least one: what does not fit is seen when it runs, and told."""
    fits = [max(node.cpus, 1) // max(need.cpus, 1)]
    if need.gpus:
        fits.append(len(node.gpus) // need.gpus * max(need.share, 1))
    if need.memory_mb and node.memory_mb:
        fits.append(node.memory_mb // need.memory_mb)
    return [_make_slot(number, node, need) for number in range(max(1, min(fits)))]


def _make_slot(number: int, node: Node, need: Need) -> Slot:
    """Tasks go round the GPUs, so that those which share one are as few as can be."""
    cores = node.cores[number * need.cpus : (number + 1) * need.cpus]
    if not need.gpus:
        return Slot(number, cores, [])
    groups = max(1, len(node.gpus) // need.gpus)
    at = number % groups * need.gpus
    return Slot(number, cores, node.gpus[at : at + need.gpus])


def make_variables(slot: Slot, need: Need, env: "Mapping[str, str]") -> "Dict[str, str]":
    """env: of the pilot. A task that asked for no GPU sees none: it would take memory on all of them."""
    cpus = str(max(need.cpus, 1))
    made = {"OMP_NUM_THREADS": cpus, "MKL_NUM_THREADS": cpus, "OPENBLAS_NUM_THREADS": cpus}
    made["SLURM_CPUS_PER_TASK"] = cpus
    made.update({name: cpus for name in _CPUS_OF_SLURM if name in env})
    made.update({name: str(len(slot.gpus)) for name in _GPUS_OF_SLURM if name in env})
    shown = _find_shown(env) if slot.gpus else _ALWAYS_HIDDEN + _find_shown(env)
    made.update({name: ",".join(slot.gpus) for name in shown})
    return made


def _find_shown(env: "Mapping[str, str]") -> "Tuple[str, ...]":
    """The variables in which a task finds its GPUs.

    Not ROCR_VISIBLE_DEVICES where another is there: the others count among what it left, and the second GPU of a job
    is no second one of a task.
    """
    words = next((env[name] for name in _SHOWN if env.get(name)), None)
    if words is None:
        return _SHOWN[:1]
    names = tuple(name for name in _SHOWN if env.get(name) == words)
    return tuple(name for name in names if name != _BELOW) or names


def read_gpus(env: "Mapping[str, str]") -> "List[str]":
    """By what Slurm shows this job, else SLURM_GPUS_ON_NODE counts them."""
    words: "Sequence[str]" = [word for word in (env.get(_find_shown(env)[0]) or "").split(",") if word]
    if words:
        return list(words)
    on_node = env.get("SLURM_GPUS_ON_NODE", "")
    return [str(number) for number in range(int(on_node))] if on_node.isdigit() else []
