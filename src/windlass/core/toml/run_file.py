"""windlass.toml: which keys it has, what each may hold, and which do not go together."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, replace
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

from windlass.core.run import (
    KINDS_OF_ENVIRONMENT,
    SET,
    Budget,
    BuildPlace,
    Checkpoint,
    Data,
    Environment,
    Farm,
    OverBudget,
    Prefetch,
    PrefetchPlace,
    Resources,
    RunSpec,
    Staging,
    Wheels,
)
from windlass.core.site import ChainStyle
from windlass.core.sweep.space import MOST_TRIALS
from windlass.core.sweep.wish import Goal, Method, Pruner, Sampler, Sweep
from windlass.core.toml.leaves import (
    amount,
    check_env_name,
    check_name,
    check_swept_name,
    choice,
    duration,
    env_value,
    flag,
    line,
    memory,
    number_pattern,
    pattern,
    relative_path,
    secret,
    signal,
    swept_values,
    text,
    whole,
    word,
)
from windlass.core.toml.reading import Many, Named, Path, Problem, Shape, Table, format_path, read_table
from windlass.core.units import format_duration
from windlass_job.wire import make_data_variable

MAX_NODES = 100_000
MAX_GPUS = 1_000_000
MAX_GPUS_PER_NODE = 256
MAX_CPUS = 8_192
MAX_PROCESSES_PER_NODE = 1_024
MAX_LINKS = 1_000  # Slurm's default for an array (MaxArraySize 1001)

EXCLUSIVE: tuple[tuple[Path, ...], ...] = (
    (("resources", "gpus"), ("resources", "gpus_per_node")),
    tuple(("environment", name) for name in KINDS_OF_ENVIRONMENT),
)
"""Of each group one is used: a later layer that sets one of them takes away the others of earlier layers."""

RUN: dict[str, Shape] = {
    "name": line(longest=100),
    "command": text(),
    "workdir": relative_path(),
    "site": word(longest=64),
    "launcher": word(longest=64),
    "network_test": flag(),
    "replace_nodes": flag(),
    "include": Many(item=line()),
    "exclude": Many(item=line()),
    "max_mb": whole(1, 1_000_000),
    "max_files": whole(1, 10_000_000),
    "results": Many(item=relative_path()),
    "bring_back": Many(item=relative_path()),
    "bring_back_every": duration(least=timedelta(seconds=30)),
    "env": Named(item=env_value(), check_name=check_env_name),
    "secrets": Named(item=secret(), check_name=check_env_name),
}
RESOURCES: dict[str, Shape] = {
    "nodes": whole(1, MAX_NODES),
    "gpus": whole(0, MAX_GPUS),
    "gpus_per_node": whole(0, MAX_GPUS_PER_NODE),
    "gpu": word(),
    "processes_per_node": whole(1, MAX_PROCESSES_PER_NODE),
    "cpus": whole(1, MAX_CPUS),
    "memory": memory("memory_mb"),
    "time": duration(),
    "link_time": duration(),
    "exclusive": flag(),
    "constraint": word(longest=1024),
    "reservation": word(),
    "dependency": word(longest=1024),
    "exclude": word(longest=1024),
    "account": word(),
    "partition": word(),
    "qos": word(),
}
ENVIRONMENT: dict[str, Shape] = {
    "modules": Many(item=word()),
    "purge_modules": flag(),
    "venv": line(),
    "wheels": choice(Wheels),
    "python": word(),
    "system_packages": flag(),
    "conda": line(),
    "container": line(),
    "binds": Many(item=line()),
    "build": choice(BuildPlace),
    "build_time": duration(),
    "pack": flag(),
    "activate": text(),
}
PREFETCH: dict[str, Shape] = {
    "command": text(),
    "where": choice(PrefetchPlace),
    "paths": Many(item=relative_path()),
    "verify": text(),
    "limit": duration(least=timedelta(seconds=1)),
}
SWEEP: dict[str, Shape] = {
    "command": text(),
    "space": Named(item=swept_values(), check_name=check_swept_name),
    "table": relative_path(),
    "method": choice(Method),
    "trials": whole(1, MOST_TRIALS),
    "seed": whole(0, 2**32 - 1),
    "metric": line(longest=100),
    "goal": choice(Goal),
    "pattern": number_pattern(),
    "sampler": choice(Sampler),
    "prune": choice(Pruner),
    "parallel": whole(1, 10_000),
}
FARM: dict[str, Shape] = {
    "cpus": whole(1, MAX_CPUS),
    "gpus": whole(0, MAX_GPUS_PER_NODE),
    "memory": memory("memory_mb"),
    "share": whole(1, MAX_PROCESSES_PER_NODE),
    "retries": whole(0, 1_000),
    "time": duration(),
    "limit": duration(),
    "linger": duration(),
    "pilots": whole(1, MAX_NODES),
    "pilot_time": duration(),
}
BUDGET: dict[str, Shape] = {"run": amount(), "month": amount(), "site": amount(), "over": choice(OverBudget)}
DATA: dict[str, Shape] = {"source": line(), "stage": choice(Staging), "extract": flag()}
CHECKPOINT: dict[str, Shape] = {
    "folder": line(),
    "signal": signal(),
    "notice": duration(most=timedelta(seconds=65_535)),  # sbatch --signal takes no more
    "max_links": whole(1, MAX_LINKS),
    "done_file": relative_path(),
    "done_pattern": pattern(),
    "restart": flag(),
    "chain": choice(ChainStyle),
}
SECTIONS: dict[str, Shape] = {
    "run": Table(fields=RUN, needs={"command": 'write what starts your training: command = "python train.py"'}),
    "resources": Table(fields=RESOURCES, kind=Resources),
    "environment": Table(fields=ENVIRONMENT, kind=Environment),
    "data": Named(
        item=Table(fields=DATA, kind=Data),
        check_name=check_name,
    ),
    "checkpoint": Table(fields=CHECKPOINT, kind=Checkpoint),
    "prefetch": Table(fields=PREFETCH, kind=Prefetch),
    "sweep": Table(fields=SWEEP, kind=Sweep),
    "budget": Table(fields=BUDGET, kind=Budget),
    "farm": Table(fields=FARM, kind=Farm),
}
OVERRIDES = Table(fields=SECTIONS)
FILE = Table(fields={**SECTIONS, "site": Named(item=OVERRIDES, check_name=check_name)})


def read_run(values: Mapping[str, object]) -> RunSpec | tuple[Problem, ...]:
    """The run after all layers were merged, or everything that is wrong with it. `[site.*]` is no longer needed."""
    wanted = {"run": {}, **{key: value for key, value in values.items() if key != "site"}}
    made, problems = read_table(wanted, Table(fields=SECTIONS))
    problems += tuple(_find_conflicts(wanted))
    if problems:
        return problems
    run = made.pop("run")
    for name in ("env", "secrets"):
        run[name] = MappingProxyType(run.get(name, {}))
    made["data"] = MappingProxyType({name: _name_set(name, one) for name, one in made.get("data", {}).items()})
    run.setdefault("name", "run")
    return RunSpec(**run, **made)


def _name_set(name: str, data: Data) -> Data:
    """Data without a source is the data set of that name at the site."""
    return data if data.source else replace(data, source=f"{SET}{name}")


def find_problems(values: Mapping[str, object]) -> tuple[Problem, ...]:
    """What is wrong with one layer by itself: nothing has to be there, but what is there has to be right."""
    return read_table(values, FILE, partial=True)[1]


def make_defaults() -> dict[str, object]:
    """What a run file means that says nothing, as the file would write it."""
    sections = {"run": RunSpec, "checkpoint": Checkpoint}
    return {name: dict(_find_defaults(kind)) for name, kind in sections.items()}


def _find_defaults(kind: type[RunSpec] | type[Checkpoint]) -> Iterator[tuple[str, object]]:
    for one in fields(kind):
        match one.default:
            case None:
                continue
            case StrEnum():
                yield one.name, one.default.value
            case str() | int():
                yield one.name, one.default
            case _ if one.default is not MISSING and isinstance(one.default, tuple) and one.default:
                yield one.name, list(one.default)


def _find_conflicts(values: Mapping[str, object]) -> Iterator[Problem]:
    for group in EXCLUSIVE:
        there = [path for path in group if path[1] in _section(values, str(path[0]))]
        for path in there[1:]:
            yield Problem(path=path, message=f"cannot go together with {format_path(there[0])}; keep one of them")
    run = _section(values, "run")
    secrets = _section(run, "secrets")
    for name in _section(run, "env"):
        if name in secrets:
            yield Problem(path=("run", "env", name), message="is in [run.secrets] too; keep one of them")
    yield from _find_data_conflicts(_section(values, "data"))
    yield from _find_time_conflicts(values)


def _find_data_conflicts(data: Mapping[str, object]) -> Iterator[Problem]:
    """Two names that jobs could not tell apart, and files that are to lie on the node and are not to be copied."""
    taken: dict[str, str] = {}
    for name in data:
        variable = make_data_variable(name)
        if variable in taken:
            yield Problem(
                path=("data", name), message=f"is called {variable} in jobs, and so is data.{taken[variable]}"
            )
        taken.setdefault(variable, name)
        one = _section(data, name)
        if one.get("extract") is True and one.get("stage") == Staging.SHARED.value:
            message = 'cannot go together with stage = "shared": files are extracted on the nodes; keep one of them'
            yield Problem(path=("data", name, "extract"), message=message)


def _find_time_conflicts(values: Mapping[str, object]) -> Iterator[Problem]:
    """A link that is shorter than its own notice would be stopped before it began; the default is never that long."""
    resources, problems = read_table(_section(values, "resources"), Table(fields=RESOURCES, kind=Resources))
    checkpoint, more = read_table(_section(values, "checkpoint"), Table(fields=CHECKPOINT, kind=Checkpoint))
    if problems or more:
        return
    shortest = min((one for one in (resources.time, resources.link_time) if one is not None), default=None)
    if shortest is not None and checkpoint.notice is not None and checkpoint.notice >= shortest:
        all_of_it = f"the job has {format_duration(shortest)} in all"
        message = f"leaves no time to train: {all_of_it}; shorten it, or leave it out"
        yield Problem(path=("checkpoint", "notice"), message=message, value=f'"{format_duration(checkpoint.notice)}"')
    if resources.time and resources.link_time and resources.link_time > resources.time:
        message = f"is longer than the whole training (resources.time = {format_duration(resources.time)})"
        shown = f'"{format_duration(resources.link_time)}"'
        yield Problem(path=("resources", "link_time"), message=message, value=shown)


def _section(values: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = values.get(name)
    return found if isinstance(found, Mapping) else {}
