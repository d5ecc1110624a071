"""Asks before something is removed at a site for good."""

import sys
from collections.abc import Iterable

import click

from windlass.errors import Interrupted, UsageError


def confirm_removal(things: Iterable[str], site: str) -> None:
    """things: each in words. Whoever says no, or is not there, keeps them."""
    words = "\n".join(f"  {one}" for one in things)
    if not sys.stdin.isatty():
        raise UsageError(
            f"this removes at {site} for good, and nobody is there to ask:\n{words}",
            hint="add --yes",
            done="nothing was removed",
        )
    if not click.confirm(f"This removes at {site}:\n{words}\nGo on?", err=True):
        raise Interrupted("you said no", done="nothing was removed")
