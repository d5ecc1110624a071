"""Environments as people read them: rows, cards, and the last line of a build that goes on."""

import time
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

from windlass.app.record_words import format_ago
from windlass.cli.data_words import format_count
from windlass.cli.output import Output, make_printable
from windlass.core.environment import Built, Damaged, Remains
from windlass.core.units import format_bytes

if TYPE_CHECKING:
    from rich.status import Status

    from windlass.app.environments.registry import Removable, RemovedEnvironment

HEAD = ("ID", "KIND", "PYTHON", "PACKAGES", "FILES", "SIZE", "BUILT", "PACKED")
_TELL_S = 30.0  # where nobody watches a terminal, a log must not fill with lines


class BuildLines:
    """`update(lines, last)`: on a terminal the last line of the build, elsewhere one of them now and then."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._status: Status | None = None
        self._since = self._told = time.monotonic()

    def __enter__(self) -> "BuildLines":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def update(self, lines: int, words: str) -> None:
        now = time.monotonic()
        text = f"{now - self._since:4.0f} s  {make_printable(words)[:100]}"
        if self._output.is_terminal:
            self._show(text)
        elif now - self._told > _TELL_S:
            self._told = now
            self._output.tell(f"building   {text}")

    def _show(self, text: str) -> None:
        from rich.markup import escape

        if self._status is None:
            from rich.console import Console
            from rich.status import Status

            self._status = Status(escape(text), console=Console(stderr=True))
            self._status.start()
        self._status.update(escape(text))


def format_built(built: Built) -> str:
    """venv-3f2a9c1b7d: Python 3.11.4, 24 packages, 5,120 files, 1.2 GB"""
    python = f"Python {built.python}, " if built.python else ""
    packages = f"{format_count(len(built.packages), 'package')}, " if built.packages else ""
    return f"{built.id}: {python}{packages}{format_count(built.files, 'file')}, {format_bytes(built.bytes)}"


def format_since(built: Built, now: float) -> str:
    """built 2026-03-01 14:03, 2 days ago"""
    return f"built {_format_time(built.made)}, {format_ago(now - built.made)} ago"


def _format_time(moment: float) -> str:
    return datetime.fromtimestamp(moment).strftime("%Y-%m-%d %H:%M")


def format_damaged(damaged: Damaged) -> str:
    return f"{damaged.id} is damaged: {make_printable(damaged.problem)}"


def format_remains(remains: Remains) -> str:
    what = (
        "was not built to its end, or is being built" if remains.has_build else "has only wheels that were sent for it"
    )
    return f"{remains.id} {what}"


def format_any(found: "Removable") -> str:
    if isinstance(found, Remains):
        return format_remains(found)
    return format_damaged(found) if isinstance(found, Damaged) else format_built(found)


def format_removed(removed: "RemovedEnvironment") -> str:
    return f"{removed.id}: {format_count(removed.files, 'file')}, {format_bytes(removed.bytes)}"


def make_row(built: Built) -> tuple[str, ...]:
    packages = str(len(built.packages)) if built.packages else ""
    made = _format_time(built.made)
    packed = "yes" if built.packed else ""
    size = format_bytes(built.bytes)
    return (built.id, built.kind, built.python or "", packages, f"{built.files:,}", size, made, packed)


def make_damaged_row(damaged: Damaged) -> tuple[str, ...]:
    return (damaged.id, "damaged", *("" for _ in HEAD[2:]))


def show_built(output: Output, built: Built) -> None:
    rows = {
        "environment": built.id,
        "where": built.path,
        "python": built.python,
        "modules": " ".join(built.modules),
        "platform": " ".join(part for part in (built.platform, built.glibc and f"glibc {built.glibc}") if part),
        "size": f"{format_count(built.files, 'file')}, {format_bytes(built.bytes)}",
        "built": _format_time(built.made),
        "packed": built.packed,
        "image": " ".join(part for part in (built.source, built.digest) if part),
        "pulled as": built.pinned,
        **{f"{name} is made for": made or "processors" for name, made in sorted(built.made_for.items())},
        **{f"GPU code of {name}": " ".join(code) for name, code in sorted(built.gpu_code.items())},
    }
    width = max(len(name) for name in rows) + 2
    for name, value in rows.items():
        if value:
            output.show(f"{name:<{width}}{make_printable(value)}")
    for name, version in sorted(built.packages.items()):
        whose = "   # not of its own: of a module or the system" if name in built.outer else ""
        output.show(f"{make_printable(name)}=={make_printable(version)}{whose}")
