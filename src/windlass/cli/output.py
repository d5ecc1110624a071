"""What the user sees: data on stdout, talk on stderr, clear without colour."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from windlass.errors import ExitCode, OutputLost, WindlassError

JSON_VERSION = 1
_COLOURS = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "grey": "90"}


class Output:
    """One for each call of the program."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.plain = False
        self.quiet = False

    def configure(self, *, as_json: bool, plain: bool, quiet: bool) -> None:
        self.as_json, self.plain, self.quiet = as_json, plain, quiet

    def tell(self, text: str) -> None:
        """Talk: never part of the data."""
        if not self.quiet:
            _whisper(text + "\n")

    def show(self, text: str) -> None:
        """Data for people; with --json use `show_json` instead."""
        _write(sys.stdout, text if text.endswith("\n") else text + "\n")

    def show_json(self, values: Mapping[str, object]) -> None:
        from windlass.core.codec import to_json

        _write(sys.stdout, to_json({"version": JSON_VERSION, "ok": True, **values}).decode())

    def show_bytes(self, payload: bytes) -> None:
        """A log as it is: its bytes are the program's own."""
        if sys.stdout is None:
            raise OutputLost("standard output is closed")
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(payload)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as problem:
            raise OutputLost(f"the log could not be written: {problem}") from problem

    def show_table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they must be; with --plain one fact a line."""
        rows = [[make_printable(cell) for cell in row] for row in rows]
        if self.plain:
            for row in rows:
                self.show("\n".join(f"{name.lower()}: {value}" for name, value in zip(head, row, strict=True)) + "\n")
            return
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        lines = [self.paint(_pad(head, widths), "bold", to=sys.stdout), *(_pad(row, widths) for row in rows)]
        self.show("\n".join(lines))

    def show_error(self, error: WindlassError) -> None:
        if self.as_json:
            from windlass.core.codec import to_json

            fields = ("code", "message", "details", "said", "hint", "done")
            values = {name: getattr(error, name) for name in fields}
            document = {"version": JSON_VERSION, "ok": False, "error": values}
            _write(sys.stdout, to_json(document).decode())
            return
        self._show_error_in_words(error)

    def paint(self, text: str, colour: str, *, to: TextIO | None = None) -> str:
        """Colour only on a terminal that wants it."""
        stream = to or sys.stderr
        if stream is None:
            return text
        wanted = "FORCE_COLOR" in os.environ or (stream.isatty() and os.environ.get("TERM") != "dumb")
        if self.plain or not wanted or os.environ.get("NO_COLOR"):
            return text
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"

    @property
    def is_terminal(self) -> bool:
        return sys.stderr is not None and sys.stderr.isatty() and not self.plain and not self.quiet

    def _show_error_in_words(self, error: WindlassError) -> None:
        is_wish = error.exit_code is ExitCode.INTERRUPTED  # Ctrl-C is no error of anybody's
        head = "" if is_wish else f"{self.paint(f'error[{error.code}]', 'red')}: "
        lines = [head + make_printable(error.message)]
        lines += [f"  {make_printable(detail)}" for detail in error.details]
        if error.said:
            words = make_printable(error.said).strip().splitlines()
            lines.append(f"  it said: {words[0] if words else ''}")
            lines += [f"           {line}" for line in words[1:12]]
        if error.hint:
            lines.append(f"  {self.paint('try', 'green')}: {error.hint}")
        if error.done:
            lines.append(f"  {error.done}")
        _whisper("\n".join(lines) + "\n")


def _pad(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _write(stream: TextIO | None, text: str) -> None:
    """Text from a site may hold what this terminal cannot show."""
    if stream is None:  # closed before we began
        raise OutputLost("standard output is closed")
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        raise OutputLost(f"the answer could not be written: {problem}") from problem


def _whisper(text: str) -> None:
    """Talk that nobody may be able to hear."""
    with contextlib.suppress(OutputLost, OSError):
        _write(sys.stderr, text)


def make_printable(text: str) -> str:
    """Control characters shown, not obeyed: words from a log or a site must not steer the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else _show_character(char) for char in text)


def _show_character(char: str) -> str:
    return char.encode("unicode_escape").decode()
