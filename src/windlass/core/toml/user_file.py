"""config.toml: what it may hold beside the sections of a run file."""

import shlex
from collections.abc import Mapping

from windlass.core.notices import EventKind, Notices
from windlass.core.toml.leaves import choice, duration, flag, line, word
from windlass.core.toml.reading import Leaf, Many, Problem, Refused, Shape, Table, read_table

SECTION = "notices"


def _read_command(value: object) -> str:
    """A program and its words: no shell reads it, so nothing in an event can become a command."""
    written = str(line().read(value))
    try:
        words = shlex.split(written)
    except ValueError as error:
        raise Refused(f"cannot be cut into words: {str(error).lower()}") from None
    if not words:
        raise Refused("names no program")
    return written


NOTICES: dict[str, Shape] = {
    "desktop": flag(),
    "terminal": flag(),
    "command": Leaf(read=_read_command),
    "events": Many(item=choice(EventKind)),
    "saves_nothing_for": duration(),
    "mail": word(longest=254),
}


def read_notices(values: Mapping[str, object]) -> tuple[Notices | None, tuple[Problem, ...]]:
    """None where the file does not speak of notices, or wrongly."""
    if SECTION not in values:
        return None, ()
    made, problems = read_table(values[SECTION], Table(fields=NOTICES, kind=Notices), (SECTION,))
    return made, problems
