"""What a build said, read for people: how far it is, and the first line that tells what went wrong."""

import os
import re
from typing import List, Optional, Tuple

from windlass_job import wire

_LONGEST = 300
_MOST_READ = 8 << 20
_TAIL = 15
_NO_SPACE = re.compile(r"no space left on device|disk quota exceeded|ENOSPC\b|EDQUOT\b", re.IGNORECASE)
_NOT_FETCHED = re.compile(
    r"temporary failure in name resolution|name or service not known|could not resolve host|network is unreachable"
    r"|failed to establish a new connection|connection refused|connection timed out|dns error|no such host",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"^(\S+: )?(error|fatal|critical|exception|failed)\b[ :!]"  # ERROR: No matching distribution; FATAL: while ...
    r"|^\s*lmod has detected the following error"
    r"|\b(ERROR|FATAL|CRITICAL)\b"
    r"|^\s*(error|×|x) "  # uv
    r"|^\s*[\w.]*(Error|Exception|NotFound)\b:"  # of Python, of conda
    r"|: (command not found|no such file or directory|permission denied)$"
    r"|unable to locate a modulefile|no matching distribution|could not find a version"
    r"|no space left on device|disk quota exceeded|nothing provides|killed$"
    r"|: line \d+: +\d+ (killed|aborted|segmentation fault|bus error|illegal instruction)\b",  # of bash
    re.IGNORECASE,
)
# Lines that only announce or repeat that something went wrong: what did stands elsewhere.
_VAGUE = re.compile(
    r"subprocess-exited-with-error|exited with code|see above for output|this error originates from a subprocess"
    r"|^\s*(warning|note|hint|debug|info)\b|retrying \(|ignoring invalid|^windlass: ",
    re.IGNORECASE,
)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class LogReader:
    """Follows a log that another process writes."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._place = 0
        self._rest = b""
        self.lines = 0
        self.last = ""

    def read_on(self) -> None:
        with open(self._path, "rb") as file:
            file.seek(self._place)
            piece = file.read(1 << 20)
        self._place += len(piece)
        # Bars of progress write over their own line.
        parts = (self._rest + piece).replace(b"\r", b"\n").split(b"\n")
        self._rest = parts.pop()[-10000:]
        self.lines += len(parts)
        for part in reversed([*parts, self._rest]):
            text = clean(part.decode("utf-8", "replace"))
            if text and not text.startswith("windlass: "):
                self.last = text
                return


def find_cause(path: bytes) -> "Tuple[str, str, List[str]]":
    """(kind, the first line that tells what went wrong, the last lines). kind: no-space, no-network or build-failed."""
    lines = _load_lines(path)
    kind = "build-failed"
    for word, pattern in (("no-network", _NOT_FETCHED), ("no-space", _NO_SPACE)):
        if any(pattern.search(line) for line in lines):
            kind = word
    first = _find(lines, _NO_SPACE if kind == "no-space" else _BAD) or _find_said(lines)
    return kind, first, lines[-_TAIL:]


def _load_lines(path: bytes) -> "List[str]":
    """Of the build itself: what the start files of the login shell print comes before."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _MOST_READ))
            text = file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return []
    lines = [clean(line) for line in text.replace("\r", "\n").split("\n")]
    if wire.BUILD_BEGINS in lines:
        lines = lines[lines.index(wire.BUILD_BEGINS) + 1 :]
    return [line for line in lines if line.strip()]


def _find(lines: "List[str]", pattern: "re.Pattern[str]") -> "Optional[str]":
    for number, line in enumerate(lines):
        if pattern.search(line) and not _VAGUE.search(line):
            is_announced = line.rstrip().endswith(":") and number + 1 < len(lines)
            return " ".join([line.strip(), lines[number + 1].strip()]) if is_announced else line.strip()
    return None


def _find_said(lines: "List[str]") -> str:
    """Nothing looks like an error: the last words before the script's own."""
    said = [line for line in lines if not line.startswith("windlass: ")]
    return (said or lines or ["it said nothing"])[-1].strip()


def clean(line: str) -> str:
    """Without colours and control characters, and not too long."""
    text = "".join(char for char in _COLOURS.sub("", line) if char.isprintable() or char == "\t")
    return text.rstrip()[:_LONGEST]
