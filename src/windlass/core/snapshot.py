"""What is sent of a project: its files with their hashes, and what was left out and why."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from windlass.core.toml.writing import format_string


@dataclass(frozen=True, kw_only=True)
class SnapshotFile:
    """A file (with `sha256`) or a link to something inside the project (with `link`)."""

    path: str  # relative to the project, "/" between its parts
    sha256: str | None
    size: int
    mode: int  # 0o755 or 0o644, as in git: other bits are about the laptop, not the project
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class Manifest:
    files: tuple[SnapshotFile, ...]  # by path

    @cached_property
    def total_bytes(self) -> int:
        return sum(file.size for file in self.files)

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """Each content once."""
        return tuple(dict.fromkeys(file.sha256 for file in self.files if file.sha256 is not None))

    @cached_property
    def digest(self) -> str:
        """One hash for the whole: two snapshots with the same digest are the same code."""
        rows = [[file.path, file.sha256, file.mode, file.link] for file in self.files]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """As the deputy's `prepare_run` takes it, and as snapshot.json keeps it."""
        return {
            "files": [
                {
                    "path": file.path,
                    "sha256": file.sha256,
                    "size": file.size,
                    "mode": file.mode,
                    "link": file.link,
                }
                for file in self.files
            ]
        }


class LeftOutReason(StrEnum):
    SECRET = "may hold a secret"
    OUTSIDE = "links to outside the project"
    SPECIAL = "is neither a file, a folder nor a link"
    NAME = "has a name that is not UTF-8"
    OUTPUT = "is where this command prints"
    PACKED = "is a packed data set"
    REBUILT = "is tracked by git but can be made again"


_MANY = {
    LeftOutReason.SECRET: "may hold secrets",
    LeftOutReason.OUTSIDE: "link to outside the project",
    LeftOutReason.SPECIAL: "are neither files, folders nor links",
    LeftOutReason.NAME: "have names that are not UTF-8",
    LeftOutReason.OUTPUT: "are where this command prints",
    LeftOutReason.PACKED: "are packed data sets",
    LeftOutReason.REBUILT: "are tracked by git but can be made again",
}

_ADVICE = {
    LeftOutReason.SECRET: "include = [{pattern}] under [run] sends it all the same",
    LeftOutReason.OUTSIDE: "data outside the project belongs under [data]",
    LeftOutReason.NAME: "rename it to send it",
    LeftOutReason.PACKED: "[data] brings it to a job; include = [{pattern}] under [run] sends it with the code",
    LeftOutReason.REBUILT: "include = [{pattern}] under [run] sends it all the same",
}


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Something the user may expect at the site and that was not sent."""

    path: str
    reason: LeftOutReason
    pattern: str = ""  # for `include`
    note: str = ""  # where a link leads, what a special file is


def format_left_out(left_out: Sequence[LeftOut], *, at_most: int = 5) -> tuple[str, ...]:
    """A line for each reason, naming the first few."""
    lines = []
    for reason in LeftOutReason:
        chosen = [one for one in left_out if one.reason is reason]
        if chosen:
            lines.append(_format_reason(chosen, reason, at_most))
    return tuple(lines)


def format_name(path: str) -> str:
    """A path fit for one line of a terminal: control characters and bytes that are no text are escaped."""
    if path.isprintable():
        return path
    return "".join(letter if letter.isprintable() else _escape_letter(letter) for letter in path)


def _format_reason(chosen: Sequence[LeftOut], reason: LeftOutReason, at_most: int) -> str:
    names = [format_name(one.path) + (f" ({format_name(one.note)})" if one.note else "") for one in chosen]
    listed = ", ".join(names[:at_most]) + (f" and {len(names) - at_most} more" if len(names) > at_most else "")
    verb = str(reason) if len(chosen) == 1 else _MANY[reason]
    line = f"left out: {listed}: {verb}"
    if advice := _ADVICE.get(reason):
        line += "; " + advice.format(pattern=format_string(chosen[0].pattern))
    return line


def _escape_letter(letter: str) -> str:
    if "\udc80" <= letter <= "\udcff":  # a byte that surrogateescape carried through
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode("ascii")
