"""Windlass: take a training from a laptop to any Slurm supercomputer, and its results home.

The functions of `windlass.api` are here too: `windlass.run(...)`; those about data are in `windlass.data`. They are
loaded at first use, because the command line must start fast.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windlass import data
    from windlass.api import (
        RunRecord,
        RunState,
        Session,
        WindlassError,
        adopt,
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
        rehearse,
        resume,
        rm,
        run,
        site_list,
        sync,
        ticket,
        wait,
    )

__version__ = "0.1.0"
__all__ = [
    "RunRecord",
    "RunState",
    "Session",
    "WindlassError",
    "adopt",
    "cancel",
    "data",
    "explain",
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
    "rehearse",
    "resume",
    "rm",
    "run",
    "site_list",
    "sync",
    "ticket",
    "wait",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'windlass' has no attribute {name!r}")
    from windlass import api

    if name == "data":
        from importlib import import_module

        return import_module("windlass.data")
    return getattr(api, name)
