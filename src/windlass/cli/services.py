"""Flags that notebooks, shells and other services share."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import click

from windlass.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def idle_option(words: str) -> Callable[[F], F]:
    return click.option("--idle", default="30m", show_default=True, metavar="TIME", help=f"{words} 0: never.")


def read_idle(text: str) -> timedelta | None:
    """None: never."""
    from windlass.core.units import Unreadable, read_duration

    if text.strip() == "0":
        return None
    try:
        return read_duration(text) or None
    except Unreadable as problem:
        raise UsageError(f"--idle {text!r} {problem}", hint="--idle 30m, or --idle 0 for never") from problem
