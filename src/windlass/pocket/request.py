"""From options to a request: what the sources say, merged, read and checked. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from windlass.pocket.arrays import ArraySpec
from windlass.pocket.dependencies import read_dependency
from windlass.pocket.errors import PocketError
from windlass.pocket.model import Kind, Request
from windlass.pocket.values import Gpus, read_value

Source = Sequence[tuple[str, str]]
# Options that push each other out: a stronger source that has one of them silences the others.
_RIVALS = (
    ("mem", "mem-per-cpu", "mem-per-gpu"),
    ("requeue", "no-requeue"),
    ("cpus-per-task", "cpus-per-gpu"),
)
_Wanted = TypeVar("_Wanted")


@dataclass(frozen=True, kw_only=True)
class Submitter:
    """Who asks, and from where."""

    user: str
    uid: int
    directory: str
    host: str


class Options:
    """Option values by name, typed on the way out."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, kind: type[_Wanted]) -> _Wanted | None:
        value = self._values.get(name)
        return value if isinstance(value, kind) else None

    def text(self, name: str, default: str = "") -> str:
        return self.get(name, str) or default


def merge(*sources: Source) -> Options:
    """Weakest source first. Within a source the last word counts."""
    merged: dict[str, object] = {}
    for source in sources:
        values = {name: read_value(name, text) for name, text in source}
        if len(values.keys() & set(_RIVALS[0])) > 1:
            raise PocketError("fatal: --mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.")
        for rivals in _RIVALS:
            if values.keys() & set(rivals):
                merged = {name: value for name, value in merged.items() if name not in rivals}
        merged.update(values)
    return Options(merged)


def make_request(
    options: Options,
    submitter: Submitter,
    *,
    kind: Kind,
    partition: str,
    command: str,
    script_args: tuple[str, ...] = (),
) -> Request:
    """The request that the options describe."""
    gpu_type, gpus_per_node = _gpus(options, "gres", "gpus-per-node")
    total_type, gpus = _gpus(options, "gpus")
    task_type, gpus_per_task = _gpus(options, "gpus-per-task")
    nodes = options.get("nodes", tuple)
    array = options.get("array", ArraySpec)
    if dependency := options.text("dependency"):
        read_dependency(dependency)
    return Request(
        kind=kind,
        name=options.text("job-name") or _name_of(command),
        user=submitter.user,
        uid=submitter.uid,
        partition=partition,
        chdir=_join(submitter.directory, options.text("chdir")),
        submit_dir=submitter.directory,
        submit_host=submitter.host,
        command=command,
        script_args=script_args,
        account=options.text("account"),
        qos=options.text("qos"),
        constraint=options.text("constraint"),
        reservation=options.text("reservation"),
        output=options.text("output"),
        error=options.text("error"),
        input=options.text("input"),
        open_mode=options.text("open-mode"),
        min_nodes=nodes[0] if nodes else None,
        max_nodes=nodes[1] if nodes else None,
        ntasks=options.get("ntasks", int),
        ntasks_per_node=options.get("ntasks-per-node", int),
        cpus_per_task=options.get("cpus-per-task", int),
        cpus_per_gpu=options.get("cpus-per-gpu", int),
        min_cpus=options.get("mincpus", int),
        gpu_type=gpu_type or total_type or task_type,
        gpus=gpus,
        gpus_per_node=gpus_per_node,
        gpus_per_task=gpus_per_task,
        memory_mb=options.get("mem", int),
        memory_per_cpu_mb=options.get("mem-per-cpu", int),
        memory_per_gpu_mb=options.get("mem-per-gpu", int),
        is_exclusive="exclusive" in options,
        overcommits="overcommit" in options,
        dependency=dependency,
        kills_on_invalid_dependency=options.text("kill-on-invalid-dep") == "yes",
        may_requeue="no-requeue" not in options,
        signal=options.text("signal"),
        array_indices=array.indices if array else (),
        export=options.text("export", "ALL"),
    )


def _gpus(options: Options, *names: str) -> tuple[str, int | None]:
    found = [value for name in names if (value := options.get(name, Gpus)) is not None]
    if len({value.type != "" for value in found}) > 1:
        raise PocketError("Invalid GRES specification (with and without type identification)")
    return (found[-1].type, found[-1].count) if found else ("", None)


def _name_of(command: str) -> str:
    return command.rsplit("/", 1)[-1]


def _join(directory: str, path: str) -> str:
    if not path:
        return directory
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
