"""What tasks measure: numbers told by `run.log`, or found in what they print. In one file a worker.

    pilots/WORKER.met    TASK ATTEMPT {"step":5,"t":1700000000.123,"loss":0.25}

`run.log` of a task writes to a file on the node, which the pilot reads as it looks at its output, and removes: no file
a task at the site, and nothing of it among the numbers of the pilot's own run. Of a task that tells very much the
beginning is kept, and its last word.
"""

import json
import os
import re
import shutil
import tempfile
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Pattern

from windlass_job import disk
from windlass_job.farming.outputs import append, open_to_append

MOST = 4 << 20  # bytes of one try of a task
_LONGEST_LINE = 4096  # of what is printed: no pattern is tried on more
_PIECE = 1 << 20
_LINES = re.compile(b"[\r\n]+")


class Measures:
    """Of one worker. patterns: name of a number -> a regular expression whose first group is the number."""

    def __init__(
        self, stem: bytes, folder: "Optional[str]", patterns: "Mapping[str, str]", say: "Callable[[str], None]"
    ) -> None:
        self._path, self._say = stem + b".met", say
        self._handle: "Optional[int]" = None
        place = folder if folder and os.path.isdir(folder) else None
        self._folder = tempfile.mkdtemp(prefix="windlass-metrics-", dir=place)
        self._patterns = {name: re.compile(text) for name, text in patterns.items()}
        self._tries: "Dict[int, Try]" = {}  # by task, of those that have told something
        self.paths = os.fsencode(os.path.join(self._folder, "")).replace(b"%", b"%%") + b"%d"

    def make_path(self, task: int) -> bytes:
        """Where it tells its numbers. What an earlier one has left behind has another path."""
        return self.paths % task

    def watch(self, task: int, printed: "Iterable[bytes]") -> "Iterator[bytes]":
        """The same pieces, looked through on their way."""
        for piece in printed:
            if self._patterns:
                self._tries.setdefault(task, Try(self._patterns)).search(piece)
            yield piece

    def has_told(self, task: int) -> bool:
        """Most tasks have not, of which there may be a million."""
        return task in self._tries or os.access(self.make_path(task), os.F_OK)

    def take(self, task: int, attempt: int, is_over: bool) -> None:
        """What is new."""
        if not self.has_told(task):
            return
        state = self._tries.setdefault(task, Try(self._patterns))
        kept = state.keep(self._read_told(task, state, is_over) + state.take_found(is_over), is_over)
        if is_over:
            del self._tries[task]
        if kept:
            self._write(b"".join(b"%d %d %s\n" % (task, attempt, line) for line in kept))

    def _write(self, content: bytes) -> None:
        try:
            if self._handle is None:
                self._handle = open_to_append(self._path)
            append(self._handle, content)
        except OSError as error:
            self._say("some of what tasks measure is not kept: {}".format(error.strerror))

    def flush(self) -> None:
        if self._handle is not None:
            os.fsync(self._handle)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read_told(self, task: int, state: "Try", is_over: bool) -> "List[bytes]":
        path = self.make_path(task)
        try:
            with disk.open_regular(path) as file:
                return state.read(file.fileno())
        except (OSError, disk.Refused):
            return []  # it has told nothing, or made something else of its file
        finally:
            if is_over:
                _remove(path)


def _remove(path: bytes) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # there is none, or it is a folder: that goes with all of them


class Try:
    """One try of one task."""

    def __init__(self, patterns: "Mapping[str, Pattern[str]]") -> None:
        self._patterns = patterns
        self._offset = self._kept = 0
        self._told = self._printed = b""  # a line that is not whole yet
        self._counts = dict.fromkeys(patterns, 0)
        self._last: "Optional[bytes]" = None  # left out so far
        self._found: "List[bytes]" = []  # in what was printed

    def read(self, handle: int) -> "List[bytes]":
        lines: "List[bytes]" = []
        while True:
            piece = os.pread(handle, _PIECE, self._offset)
            if not piece:
                return [line for line in lines if line.startswith(b"{") and line.endswith(b"}")]
            self._offset += len(piece)
            whole, _, self._told = (self._told + piece).rpartition(b"\n")
            lines += whole.splitlines()

    def search(self, piece: bytes) -> None:
        """A piece of what was printed."""
        lines = _LINES.split(self._printed + piece)
        self._printed = lines.pop()[-_LONGEST_LINE:]
        self._search(lines)

    def take_found(self, is_over: bool) -> "List[bytes]":
        if is_over:
            self._search([self._printed])
        found, self._found = self._found, []
        return found

    def _search(self, lines: "List[bytes]") -> None:
        for line in lines:
            text = line[:_LONGEST_LINE].decode("utf-8", "replace")
            for name, pattern in self._patterns.items():
                for match in pattern.finditer(text):
                    self._counts[name] += 1
                    self._found += make_line(name, match.groupdict(), match.group(1), self._counts[name])

    def keep(self, lines: "List[bytes]", is_over: bool) -> "List[bytes]":
        kept: "List[bytes]" = []
        for line in lines:
            if self._kept > MOST:
                self._last = line
                continue
            self._kept += len(line)
            kept.append(line)
        if is_over and self._last is not None:
            kept.append(self._last)
        return kept


def make_line(name: str, groups: "Mapping[str, Any]", text: "Optional[str]", count: int) -> "List[bytes]":
    """None, where what fits the pattern is no number. Steps are counted, unless a group is called step."""
    number, step = _read_number(text), _read_number(groups.get("step"))
    if number is None:
        return []
    told: "Dict[str, Any]" = {"step": count if step is None else step, "t": round(time.time(), 3), name: number}
    return [json.dumps(told, separators=(",", ":")).encode("ascii")]


def _read_number(text: "Optional[str]") -> "Any":
    """JSON has no infinity and no NaN: they are words, as in what `run.log` writes."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if number - number == 0 else repr(number)
