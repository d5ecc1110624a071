"""Flags of `windlass farm`: where tasks come from, and what one of them needs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from windlass.core.toml.layers import Flag

if TYPE_CHECKING:
    from windlass.app.farms.taking import Given

F = TypeVar("F", bound=Callable[..., Any])

# flag -> (key of [farm], metavar, help)
_NEEDS: dict[str, tuple[str, str, str]] = {
    "--cpus": ("cpus", "N", "CPU cores of one task."),
    "--gpus": ("gpus", "N", "GPUs of one task."),
    "--memory": ("memory", "SIZE", "Memory of one task, such as 4G."),
    "--share": ("share", "N", "Tasks on one GPU at the same time."),
    "--retries": ("retries", "N", "How often a task that failed is tried again."),
    "--time": ("time", "TIME", "How long one task takes; none is started when less is left."),
    "--limit": ("limit", "TIME", "A task that takes longer is ended."),
    "--pilots": ("pilots", "N", "How many jobs; default: as few as are useful here."),
    "--pilot-time": ("pilot_time", "TIME", "How long each pilot may work; default: as the tasks need."),
    "--linger": ("linger", "TIME", "Pilots without tasks wait so long for more."),
}


def need_options(function: F) -> F:
    for flag, (_, metavar, words) in reversed(_NEEDS.items()):
        function = click.option(flag, metavar=metavar, help=words)(function)
    return function


def take_needs(values: dict[str, Any]) -> tuple[Flag, ...]:
    """Taken out of a command's values."""
    flags = []
    for option, (key, _, _) in _NEEDS.items():
        value = values.pop(option.lstrip("-").replace("-", "_"), None)
        if value is not None:
            flags.append(Flag(key=f"farm.{key}", value=value, option=option))
    return tuple(flags)


def given_options(function: F) -> F:
    function = click.option(
        "--separator", metavar="CHARACTER", help="Between columns; default: a tab for lines, a comma for CSV."
    )(function)
    function = click.option(
        "--array", metavar="SCRIPT", type=click.Path(path_type=Path), help="An sbatch script with --array: its indices."
    )(function)
    return click.option(
        "--table", metavar="FILE", type=click.Path(path_type=Path), help="CSV with names, or JSON lines; - is stdin."
    )(function)


def read_given(words: tuple[str, ...], values: dict[str, Any]) -> "Given":
    from windlass.app.farms.taking import Given

    return Given(words=words, table=values.pop("table"), array=values.pop("array"), separator=values.pop("separator"))
