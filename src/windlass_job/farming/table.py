"""The tasks of a farm: rows in few files, found by their number without reading the others.

    tasks/NAME.rows     the rows, one after another; of commands each is a line of JSON
    tasks/NAME.idx      where each begins: 8 bytes a row, and the end of the last
    tasks/FIRST.json    how many, of which kind, in which files; made last: rows without it are not there

More tasks are more such files. FIRST is the number of the first task in them, and mostly their NAME too; rows that are
added later have a name of their own, because their number is known only when they are there.
"""

import array
import json
import os
import sys
from typing import Any, Dict, Iterable, List, NamedTuple, Tuple

from windlass_job import disk

COMMANDS = "commands"
CALLS = "calls"
_NAME = b"%012d"


class Segment(NamedTuple):
    first: int
    count: int  # type: ignore[assignment]  # a tuple's own `count` is not used
    kind: str
    name: str = ""  # of its files; default: as the first task


def make_row(task: "Dict[str, Any]") -> bytes:
    return (json.dumps(task, ensure_ascii=False, separators=(",", ":")) + "\n").encode("utf-8", "surrogatepass")


def write_rows(folder: bytes, first: int, rows: "Iterable[bytes]", name: str = "") -> int:
    """How many. Not yet to be seen: `publish` does that."""
    disk.make_folders(folder)
    segment = Segment(first, 0, "", name)
    offsets, at = array.array("Q", [0]), 0
    with open(_find_file(folder, segment, b".rows"), "wb") as file:
        for row in rows:
            file.write(row)
            at += len(row)
            offsets.append(at)
        file.flush()
        os.fsync(file.fileno())
    if sys.byteorder == "big":
        offsets.byteswap()
    disk.replace(_find_file(folder, segment, b".idx"), offsets.tobytes())
    return len(offsets) - 1


def remove_rows(folder: bytes, name: str) -> None:
    """Of tasks that were never published."""
    for suffix in (b".rows", b".idx"):
        disk.remove_if_there(_find_file(folder, Segment(0, 0, "", name), suffix))


def publish(folder: bytes, segment: Segment) -> None:
    """FileExistsError: others have the task of this number."""
    card = {"count": segment.count, "kind": segment.kind, "name": segment.name}
    disk.publish(os.path.join(folder, _NAME % segment.first + b".json"), disk.make_json(card))


class Table:
    """Read at any place."""

    def __init__(self, folder: bytes) -> None:
        self._folder = folder
        self._segments: "List[Segment]" = []

    def read(self, first: int, end: int) -> "List[Tuple[str, bytes]]":
        """Kind and row of each task from first to end."""
        found: "List[Tuple[str, bytes]]" = []
        while first < end:
            segment = self._find(first)
            stop = min(end, segment.first + segment.count)
            found += [(segment.kind, row) for row in self._read_rows(segment, first, stop)]
            first = stop
        return found

    def _read_rows(self, segment: Segment, first: int, end: int) -> "List[bytes]":
        with open(_find_file(self._folder, segment, b".idx"), "rb", 0) as file:
            file.seek(8 * (first - segment.first))
            offsets = array.array("Q", file.read(8 * (end - first + 1)))
        if sys.byteorder == "big":
            offsets.byteswap()
        with open(_find_file(self._folder, segment, b".rows"), "rb", 0) as file:
            file.seek(offsets[0])
            content = _read_all(file, offsets[-1] - offsets[0])
        base = offsets[0]
        return [content[offsets[at] - base : offsets[at + 1] - base] for at in range(end - first)]

    def _find(self, task: int) -> Segment:
        for _ in range(2):
            for segment in self._segments:
                if segment.first <= task < segment.first + segment.count:
                    return segment
            self._segments = load_segments(self._folder)
        raise LookupError("there is no task {}".format(task))


def load_segments(folder: bytes) -> "List[Segment]":
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(b".json") and name[:-5].isdigit())
    except FileNotFoundError:
        return []
    cards = [(int(name[:-5]), disk.read_json(os.path.join(folder, name))) for name in names]
    return [
        Segment(first, int(card["count"]), str(card["kind"]), str(card.get("name") or ""))
        for first, card in cards
        if card is not None
    ]


def _read_all(file: "Any", size: int) -> bytes:
    pieces = []
    while size > 0:
        piece = file.read(size)
        if not piece:
            raise OSError("a table of tasks is cut short")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _find_file(folder: bytes, segment: Segment, suffix: bytes) -> bytes:
    return os.path.join(folder, (disk.as_path(segment.name) or _NAME % segment.first) + suffix)
