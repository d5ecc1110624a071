"""Windlass: take a training from a laptop to any Slurm supercomputer, and its results home.

The functions of `windlass.api` are here too: `windlass.run(...)`; those about data are in `windlass.data`, those about
environments in `windlass.env`, those about farms in `windlass.farm`, those about notebooks, TensorBoard and tunnels in
`windlass.services`. They are loaded at first use, because the command line must start fast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windlass import data, env, farm, services
    from windlass.api import (
        RunRecord,
        RunState,
        Session,
        WindlassError,
        adopt,
        budget,
        cancel,
        explain,
        fetch,
        follow,
        lint_scripts,
        load,
        logs,
        modules_find,
        modules_list,
        open_session,
        plan,
        prefetch,
        ps,
        queues,
        quota,
        rehearse,
        report,
        resume,
        rm,
        run,
        site_list,
        sync,
        ticket,
        wait,
        wheels_check,
    )
    from windlass.executor import Executor

__version__ = "0.1.0"
__all__ = [
    "Executor",
    "RunRecord",
    "RunState",
    "Session",
    "WindlassError",
    "adopt",
    "budget",
    "cancel",
    "data",
    "env",
    "explain",
    "farm",
    "fetch",
    "follow",
    "lint_scripts",
    "load",
    "logs",
    "modules_find",
    "modules_list",
    "open_session",
    "plan",
    "prefetch",
    "ps",
    "queues",
    "quota",
    "rehearse",
    "report",
    "resume",
    "rm",
    "run",
    "services",
    "site_list",
    "sync",
    "ticket",
    "wait",
    "wheels_check",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'windlass' has no attribute {name!r}")
    from importlib import import_module

    if name in ("data", "env", "farm", "services"):
        return import_module(f"windlass.{name}")
    if name == "Executor":
        return import_module("windlass.executor").Executor
    from windlass import api

    return getattr(api, name)
