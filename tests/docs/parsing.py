"""Is this a command that exists? Without running it."""

import re
import shlex
from pathlib import Path

import click

from windlass.cli.commands.sweep import DefaultGroup
from windlass.cli.main import COMMANDS, windlass
from windlass.cli.output import Output

_GLOBAL = {"--json", "--plain", "-q", "--quiet"}
_SHELL_WORDS = {"|", ">", ">>", "&&", "||", ";", "&", "<", "#"}


def find_problem(command: str, makefile: Path, *, in_prose: bool = False) -> str | None:
    """Why a `windlass …` or `make …` line would be refused; None for a good one, and for other programs.

    In prose a command may stand without its arguments.
    """
    words = _first_command(command)
    if words[:1] == ["make"]:
        known = re.findall(r"^([a-z-]+):", makefile.read_text(), re.MULTILINE)
        return next((f"no such target: {word}" for word in words[1:] if "=" not in word and word not in known), None)
    if words[:1] != ["windlass"]:
        return None
    try:
        _parse(windlass, [word for word in words[1:] if word not in _GLOBAL])
    except click.exceptions.Exit:
        return None
    except click.MissingParameter as error:
        return None if in_prose else error.format_message()
    except click.ClickException as error:
        return error.format_message()
    return None


def _parse(group: click.Group, words: list[str], parent: click.Context | None = None) -> None:
    context = click.Context(group, parent=parent, obj=Output())
    if not words or words[0].startswith("-"):
        group.make_context("windlass", words, obj=Output()).close()
        return
    command = group.get_command(context, words[0])
    if command is None and isinstance(group, DefaultGroup):
        group.make_context("windlass", words, obj=Output()).close()
        return
    if command is None:
        raise click.UsageError(f"no such command: {words[0]}")
    if isinstance(command, click.Group):
        _parse(command, words[1:], context)
    elif words[0] != "pocket":
        command.make_context(words[0], words[1:], parent=context).close()


def _first_command(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    end = next((index for index, word in enumerate(words) if word in _SHELL_WORDS), len(words))
    return words[:end]


def list_command_names() -> list[str]:
    return list(COMMANDS)
