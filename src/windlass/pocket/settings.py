"""What this machine has, and `pocket.toml`, where a user may say otherwise."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windlass.pocket.errors import PocketError
from windlass.pocket.layout import Machine
from windlass.pocket.places import Places
from windlass.pocket.pretence import Pretence, read_pretence
from windlass.pocket.timeforms import read_duration

DEFAULT_PARTITION = "pocket"
_NUMBERS = ("cpus", "memory_mb", "gpus", "kill_wait_s", "idle_s", "requeue_delay_s")


@dataclass(frozen=True, kw_only=True)
class Partition:
    name: str
    max_time_s: int | None = None
    max_nodes: int | None = None
    is_default: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    machine: Machine
    partitions: tuple[Partition, ...]
    kill_wait_s: float = 30  # from SIGTERM to SIGKILL
    idle_s: float = 60  # the keeper leaves after this long with nothing to do
    requeue_delay_s: float = 2  # Slurm has 121 s here, hard coded
    names_nodes: bool = True  # pocket1 resolves inside jobs, where the system allows it
    pretence: Pretence = field(default_factory=Pretence)

    @property
    def default_partition(self) -> str:
        return next((one.name for one in self.partitions if one.is_default), DEFAULT_PARTITION)

    def partition(self, name: str) -> Partition | None:
        return next((one for one in self.partitions if one.name == name), None)


def load_settings(places: Places) -> Settings:
    try:
        raw = tomllib.loads(places.settings.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raw = {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PocketError(f"cannot read {places.settings}: {error}") from error
    return read_settings(raw, detect_machine(), str(places.settings))


def read_settings(raw: Mapping[str, object], machine: Machine, where: str) -> Settings:
    """Settings from parsed TOML; unknown keys are refused by name."""
    unknown = raw.keys() - {*_NUMBERS, "gpu_type", "names_nodes", "partitions", "pretend"}
    if unknown:
        raise PocketError(
            f"{where}: unknown key {sorted(unknown)[0]!r}; known are {', '.join(_NUMBERS)}, "
            "gpu_type, names_nodes, [partitions.NAME] with max_time, max_nodes and default, and [pretend]"
        )
    numbers: dict[str, float] = {}
    for name in _NUMBERS:
        value = raw.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise PocketError(f"{where}: {name} must be a number, not {value!r}")
        numbers[name] = value
    whole = {name: int(numbers.pop(name)) for name in ("cpus", "memory_mb", "gpus") if name in numbers}
    gpu_type = str(raw.get("gpu_type", machine.gpu_type))
    pretence = read_pretence(raw.get("pretend", {}), where)
    return Settings(
        machine=Machine(
            cpus=whole.get("cpus", machine.cpus),
            memory_mb=whole.get("memory_mb", machine.memory_mb),
            gpus=whole.get("gpus", machine.gpus),
            gpu_type=gpu_type,
            whole_nodes=pretence.whole_nodes,
            unasked_gpus=pretence.unasked_gpus,
            counts_gpus_by_node="pretend" in raw,
        ),
        partitions=_read_partitions(raw.get("partitions", {}), where),
        kill_wait_s=numbers.get("kill_wait_s", 30),
        idle_s=numbers.get("idle_s", 60),
        requeue_delay_s=numbers.get("requeue_delay_s", 2),
        names_nodes=raw.get("names_nodes", True) is True,
        pretence=pretence,
    )


def detect_machine() -> Machine:
    return Machine(cpus=_count_cpus(), memory_mb=_count_memory_mb(), gpus=_count_gpus())


def _read_partitions(raw: object, where: str) -> tuple[Partition, ...]:
    if not isinstance(raw, dict):
        raise PocketError(f"{where}: partitions must be tables such as [partitions.short]")
    named = {name for name, table in raw.items() if isinstance(table, dict) and table.get("default") is True}
    found = {} if named else {DEFAULT_PARTITION: Partition(name=DEFAULT_PARTITION, is_default=True)}
    for name, table in raw.items():
        limit = table.get("max_time") if isinstance(table, dict) else None
        try:
            seconds = None if limit is None else read_duration(str(limit))
        except ValueError:
            raise PocketError(f"{where}: {limit!r} is no time; write it as --time is written") from None
        most = table.get("max_nodes") if isinstance(table, dict) else None
        found[name] = Partition(
            name=name,
            max_time_s=seconds,
            max_nodes=most if isinstance(most, int) else None,
            is_default=name in (named or {DEFAULT_PARTITION}),
        )
    return tuple(found.values())


def _count_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _count_memory_mb() -> int:
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**2)
    except (ValueError, OSError):
        return 1024


def _count_gpus() -> int:
    # The device files are there without a run of nvidia-smi, which takes a second.
    try:
        return sum(re.fullmatch(r"nvidia\d+", path.name) is not None for path in Path("/dev").iterdir())
    except OSError:
        return 0
