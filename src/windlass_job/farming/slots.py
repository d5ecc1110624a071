"""How many tasks run at once on a node, and which cores and GPUs each of them has."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

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


def make_variables(slot: Slot, need: Need) -> "Dict[str, str]":
    """A task that asked for no GPU sees none: it would take memory on all of them."""
    threads = str(max(need.cpus, 1))
    seen = ",".join(slot.gpus)
    return {
        "CUDA_VISIBLE_DEVICES": seen,
        "ROCR_VISIBLE_DEVICES": seen,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
    }


def read_gpus(visible: "Optional[str]", on_node: "Optional[str]") -> "List[str]":
    """By what Slurm shows this job: CUDA_VISIBLE_DEVICES, else SLURM_GPUS_ON_NODE counts them."""
    words: "Sequence[str]" = [word for word in (visible or "").split(",") if word]
    if words:
        return list(words)
    return [str(number) for number in range(int(on_node))] if on_node and on_node.isdigit() else []
