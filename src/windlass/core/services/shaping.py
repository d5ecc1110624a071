"""A run file as a service takes it: of the training's size little, of its environment and place all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.core.run import Checkpoint, Resources, RunSpec
from windlass.core.shell import quote, quote_all
from windlass_job import wire

DEFAULT_TIME = timedelta(hours=2)
_OF_THE_PLACE = ("gpu", "constraint", "reservation", "exclude", "account", "partition", "qos")


@dataclass(frozen=True, kw_only=True)
class Service:
    """One job that somebody works in."""

    name: str
    command: str
    results: tuple[str, ...] = ()


def shape_service(spec: RunSpec, service: Service, given: Collection[str]) -> RunSpec:
    """given: dotted keys that the command line set; they count, and of the rest only what says where it runs.

    One node, and of the GPUs one where the training asks for any: somebody who tries something needs no more.
    """
    asked = spec.resources
    kept = {name: getattr(asked, name) for name in _OF_THE_PLACE}
    wants_gpus = bool(asked.gpus or asked.gpus_per_node)
    sized = {
        name: getattr(asked, name)
        for name in ("nodes", "gpus", "gpus_per_node", "cpus", "memory_mb", "time", "exclusive")
        if f"resources.{name.removesuffix('_mb')}" in given
    }
    if not {"gpus", "gpus_per_node"} & sized.keys() and wants_gpus:
        sized["gpus"] = 1
    resources = Resources(**{"nodes": 1, "time": DEFAULT_TIME, **kept, **sized})
    return _as_one_job(
        replace(spec, resources=resources, results=tuple(dict.fromkeys((*spec.results, *service.results)))),
        name=spec.name if "run.name" in given else service.name,
        command=service.command,
    )


def shape_batch(spec: RunSpec, service: Service, given: Collection[str]) -> RunSpec:
    """With all that the training asks for, in one job."""
    name = spec.name if "run.name" in given else service.name
    return _as_one_job(replace(spec, results=service.results), name=name, command=service.command)


def _as_one_job(spec: RunSpec, *, name: str, command: str) -> RunSpec:
    """Nothing that a training does between its links."""
    return replace(
        spec,
        name=name,
        command=command,
        launcher="single",
        checkpoint=Checkpoint(max_links=1),
        bring_back=(),
        bring_back_every=None,
        network_test=False,
    )


def make_zip_command(verb: str, options: Sequence[str] = ()) -> str:
    """A verb of the job's zip, by the Python of the run's environment."""
    return f'python3 -I "${wire.ENV_RUN_DIR}"/{quote(wire.JOB_ZIP)} {quote(verb)} {quote_all(options)}'.rstrip()


def is_notebook(command: str) -> bool:
    """One that people open: made by `make_jupyter_command`."""
    return command.startswith(make_zip_command(wire.JUPYTER))


def make_notebook_command(path: str) -> str:
    """Not isolated from the environment: the packages that execute it are imported in the same process."""
    return f'python3 "${wire.ENV_RUN_DIR}"/{quote(wire.JOB_ZIP)} {wire.NOTEBOOK} -- {quote(path)}'


def make_jupyter_command(*, idle: timedelta | None, listen: str, folder: str | None) -> str:
    options = [f"--idle={idle.total_seconds():g}"] if idle is not None else []
    options += [f"--listen={listen}"] if listen != "loopback" else []
    options += [f"--folder={folder}"] if folder else []
    return make_zip_command(wire.JUPYTER, options)
