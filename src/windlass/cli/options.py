"""Flags that several commands share, and how they become settings."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from windlass.core.toml.layers import Flag, read_set
from windlass.errors import UsageError
from windlass.launchers import LAUNCHERS

F = TypeVar("F", bound=Callable[..., Any])

# flag -> (dotted key, metavar, help)
_SETTINGS: dict[str, tuple[str, str, str]] = {
    "--name": ("run.name", "NAME", "Name of the run."),
    "--command": ("run.command", "LINE", "Command to run."),
    "--nodes": ("resources.nodes", "N", "Number of nodes."),
    "--gpus": ("resources.gpus", "N", "GPUs of the whole run."),
    "--gpus-per-node": ("resources.gpus_per_node", "N", "GPUs on each node."),
    "--gpu": ("resources.gpu", "KIND", "Kind of GPU, such as a100."),
    "--cpus": ("resources.cpus", "N", "CPU cores of each task."),
    "--memory": ("resources.memory", "SIZE", "Memory of each node, such as 64G."),
    "--time": ("resources.time", "TIME", "Time of the whole training, such as 3d or 12h."),
    "--account": ("resources.account", "NAME", "Who pays."),
    "--partition": ("resources.partition", "NAME", "Partition (queue)."),
    "--qos": ("resources.qos", "NAME", "Quality of service."),
    "--launcher": ("run.launcher", "WORD", f"How processes start: {', '.join(LAUNCHERS)}."),
}


_OF_A_TRAINING = ("run.command", "run.launcher")


def setting_options(function: F) -> F:
    """All flags that override windlass.toml, and --set for the rest."""
    function = click.option(
        "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting, such as checkpoint.notice=60s."
    )(function)
    return choose_options(*_SETTINGS)(function)


def service_options(function: F) -> F:
    """Those that count where Windlass itself says what is run, and how."""
    function = click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="KEY=VALUE",
        help="Any setting, such as environment.venv=requirements.txt.",
    )(function)
    return choose_options(*(flag for flag, (key, _, _) in _SETTINGS.items() if key not in _OF_A_TRAINING))(function)


def choose_options(*flags: str) -> Callable[[F], F]:
    """Some of them, for a command that is about less than a whole run."""

    def decorate(function: F) -> F:
        for flag in reversed(flags):
            _, metavar, words = _SETTINGS[flag]
            function = click.option(flag, metavar=metavar, help=words)(function)
        return function

    return decorate


def take_flags(values: dict[str, Any]) -> tuple[Flag, ...]:
    """The settings among a command's values, taken out of them."""
    flags = []
    for option, (key, _, _) in _SETTINGS.items():
        value = values.pop(option.lstrip("-").replace("-", "_"), None)
        if value is not None:
            flags.append(Flag(key=key, value=value, option=option))
    flags += [read_set(text) for text in values.pop("sets", ())]
    return tuple(flags)


def take_service_flags(values: dict[str, Any], *, hint: str) -> tuple[Flag, ...]:
    """As `take_flags`. What would be passed over is refused."""
    flags = take_flags(values)
    for flag in flags:
        if flag.key in _OF_A_TRAINING:
            raise UsageError(f"{flag.option} {flag.key} is not used here: this is no training", hint=hint)
    return flags


def raw_option(function: F) -> F:
    return click.option(
        "--raw",
        is_flag=True,
        help="The log as it is also on a terminal; default there: of what steers it only colours.",
    )(function)


def on_option(function: F) -> F:
    return click.option("--on", "site_name", metavar="SITE", help="Where to run; default: run.site, else here.")(
        function
    )
