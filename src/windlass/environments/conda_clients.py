"""The clients of conda's channels, and how each is told to fill a folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from windlass.environments.conda_files import Source, Wanted
from windlass_job import wire

_PREFIX = f"${wire.ENV_PREFIX}"
_CACHES = f"${wire.ENV_ROOT}/{wire.CACHES}"
Words = Callable[[Wanted], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Client:
    """One program. In its words and variables $NAME means a variable of the script's."""

    name: str
    commands: Mapping[Source, Words]
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def _create(wanted: Wanted) -> tuple[str, ...]:
    return ("create", "--yes", "--prefix", _PREFIX, "--file", wanted.file)


def _env_create(wanted: Wanted) -> tuple[str, ...]:
    # Not --yes: conda knows it here since 23.7 only; CONDA_ALWAYS_YES says the same.
    return ("env", "create", "--prefix", _PREFIX, "--file", wanted.file)


def _lock_install(wanted: Wanted) -> tuple[str, ...]:
    return ("install", "--prefix", _PREFIX, wanted.file)


def _pixi_install(wanted: Wanted) -> tuple[str, ...]:
    locked = ("--locked",) if wanted.is_locked else ()
    return ("install", "--manifest-path", f"{_PREFIX}/{wanted.file}", "--environment", wanted.environment, *locked)


# In the order in which they are looked for: the faster first.
CLIENTS: tuple[Client, ...] = (
    Client(name="pixi", commands={Source.PIXI: _pixi_install}),
    Client(
        name="micromamba",
        commands={Source.YAML: _create, Source.EXPLICIT: _create, Source.LOCK: _create},
        # Its own files. A mamba or conda that was installed has its settings in the folder it lies in.
        env={"MAMBA_ROOT_PREFIX": f"{_CACHES}/micromamba"},
    ),
    Client(name="mamba", commands={Source.YAML: _env_create, Source.EXPLICIT: _create, Source.LOCK: _create}),
    Client(name="conda", commands={Source.YAML: _env_create, Source.EXPLICIT: _create}),
    Client(name="conda-lock", commands={Source.LOCK: _lock_install}),
)
# Of every client: nothing into home, no questions, nothing of another environment.
ENV: Mapping[str, str] = {
    "CONDA_PKGS_DIRS": f"{_CACHES}/conda/pkgs",
    "RATTLER_CACHE_DIR": f"{_CACHES}/rattler",
    "PIXI_CACHE_DIR": f"{_CACHES}/pixi",
    "PIP_CACHE_DIR": f"{_CACHES}/pip",
    "UV_CACHE_DIR": f"{_CACHES}/uv",
    "XDG_CACHE_HOME": f"{_CACHES}/xdg",
    "CONDA_REGISTER_ENVS": "false",  # ~/.conda/environments.txt
    "CONDA_ALWAYS_YES": "true",
    "MAMBA_ALWAYS_YES": "true",
    "PIP_NO_INPUT": "1",
    "PYTHONNOUSERSITE": "1",  # packages of ~/.local would count as installed
}


def list_clients(source: Source) -> tuple[Client, ...]:
    return tuple(one for one in CLIENTS if source in one.commands)
