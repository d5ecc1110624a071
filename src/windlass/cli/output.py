"""What the user sees: data on stdout, talk on stderr, clear without colour."""

import contextlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from windlass.errors import ExitCode, OutputLost, WindlassError

if TYPE_CHECKING:
    from windlass.core.watching.colour_stream import ColourStream

JSON_VERSION = 1
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_PIECES = re.compile(r"(?<=[^ ])(?= )")
_LABELS = re.compile(r" {2,}(?=[^ ])")
_LONGEST_LABEL = 24
_NARROWEST = 20  # no column of text is worth less
_COLOURS = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "blue": "34", "grey": "90"}

_OURS = {"\x1b[0m", *(f"\x1b[{code}m" for code in _COLOURS.values())}
_CONTROLS = re.compile(r"\x1b\[\d{1,2}m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Output:
    """One for each call of the program."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.plain = False
        self.quiet = False
        self.raw = False  # logs with all that they hold, also on a terminal
        self._log: ColourStream | None = None

    def configure(self, *, as_json: bool, plain: bool, quiet: bool) -> None:
        self.as_json, self.plain, self.quiet = as_json, plain, quiet

    def tell(self, text: str) -> None:
        """Talk: never part of the data."""
        if not self.quiet:
            _whisper(self._fold(disarm(text), sys.stderr) + "\n")

    def ring(self, text: str) -> None:
        """Signs for the terminal itself, which are not shown: only where somebody sits at one."""
        if self.is_terminal and os.environ.get("TERM") != "dumb":
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(text)
                sys.stderr.flush()

    def show(self, text: str) -> None:
        """Data for people; with --json use `show_json` instead. Into a file or pipe it goes exactly as it is."""
        shown = disarm(text) if sys.stdout is not None and sys.stdout.isatty() else text
        _write(sys.stdout, shown if shown.endswith("\n") else shown + "\n")

    def show_words(self, text: str) -> None:
        """As `show`, for sentences: folded to the terminal's width."""
        self.show(self._fold(text, sys.stdout))

    def show_json(self, values: Mapping[str, object]) -> None:
        from windlass.core.codec import to_json

        _write(sys.stdout, to_json({"version": JSON_VERSION, "ok": True, **values}).decode())

    def show_bytes(self, payload: bytes) -> None:
        """A log as it is: its bytes are the program's own. On a terminal only its colours may steer it."""
        if sys.stdout is None:
            raise OutputLost("standard output is closed")
        if not self.raw and sys.stdout.isatty():
            payload = self._disarm_log(payload)
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(payload)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except (OSError, ValueError) as problem:
            raise OutputLost(f"the log could not be written: {problem}") from problem

    def _disarm_log(self, payload: bytes) -> bytes:
        from windlass.core.watching.colour_stream import ColourStream

        if self._log is None:
            self._log = ColourStream()
        return self._log.take(payload)

    def show_table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they must be; with --plain one fact a line."""
        rows = [[make_printable(cell) for cell in row] for row in rows]
        if self.plain:
            for row in rows:
                self.show("\n".join(f"{name.lower()}: {value}" for name, value in zip(head, row, strict=True)) + "\n")
            return
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        columns, last = self.find_columns(sys.stdout), sum(widths[:-1]) + 2 * (len(widths) - 1)
        hang = last if columns is not None and columns - last >= _NARROWEST else 4
        lines = [self.paint(_pad(head, widths), "bold", to=sys.stdout)]
        lines += [fold(_pad(row, widths), columns, hang=hang) for row in rows]
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

    def find_columns(self, stream: TextIO | None) -> int | None:
        """How wide the terminal is; None: no terminal, or lines are wanted as they are."""
        if stream is None or self.plain or self.as_json or not stream.isatty():
            return None
        try:
            return int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns) or None
        except (OSError, ValueError):
            return None

    def _fold(self, text: str, stream: TextIO | None) -> str:
        columns = self.find_columns(stream)
        return text if columns is None else "\n".join(fold(line, columns) for line in text.split("\n"))

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
        _whisper(self._fold(disarm("\n".join(lines)), sys.stderr) + "\n")


def fold(line: str, columns: int | None, *, hang: int | None = None) -> str:
    """Broken between words where it is too long; what follows stands below the text, not below its label."""
    plain = _CODES.sub("", line)
    if columns is None or len(plain) <= columns:
        return line
    if hang is None:
        hang = _find_hang(plain, columns)
    lines, current = [], ""
    for piece in _PIECES.split(line):  # a word with the spaces before it
        width = len(_CODES.sub("", current))
        if width > hang and width + len(_CODES.sub("", piece)) > columns:
            lines.append(current)
            current, piece = " " * hang, piece.lstrip(" ")
        current += piece
    return "\n".join([*lines, current])


def _find_hang(plain: str, columns: int) -> int:
    """Where the text begins: behind a label and two spaces or more, else a little to the right."""
    ends = [found.end() for found in _LABELS.finditer(plain, 0, _LONGEST_LABEL)]
    indent = len(plain) - len(plain.lstrip(" "))
    hang = ends[-1] if ends and ends[-1] > indent else indent + 2
    return hang if columns - hang >= _NARROWEST else 2


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


def disarm(text: str) -> str:
    """What steers a terminal is shown instead of obeyed, except for the colours we give ourselves."""
    return _CONTROLS.sub(lambda found: found[0] if found[0] in _OURS else _show_character(found[0]), text)


def make_printable(text: str) -> str:
    """Control characters shown, not obeyed: words from a log or a site must not steer the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else _show_character(char) for char in text)


def _show_character(text: str) -> str:
    return text.encode("unicode_escape").decode()
