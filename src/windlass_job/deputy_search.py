"""The deputy's view of long logs: where words stand in one, with the bytes around them; the rest need not travel."""

import os
import time

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, List

    from windlass_job.deputy import Answer, Call

_BLOCK = 4 << 20
_LONGEST = 64 << 10  # of a line: what stands further on in it is another place
_MOST_BYTES = 8 << 20  # of an answer


def find_in_file(call: "Call") -> "Answer":
    """words: in small letters where `ignores_case`. limit: so many places. around: bytes before and behind each.

    from_byte: where to begin. seconds: a login node is not kept busy for longer; `looked` is the byte up to which was
    searched then.
    """
    asked = call.arguments
    words = asked["words"].encode("utf-8", "surrogatepass")
    if not words:
        raise disk.Refused("bad-request", "no words to look for")
    deadline = time.monotonic() + float(asked["seconds"])
    with disk.open_regular(disk.as_path(asked["path"])) as file:
        size = os.fstat(file.fileno()).st_size
        search = _Search(file, words, bool(asked["ignores_case"]), int(asked["limit"]), size)
        search.at = max(0, int(asked.get("from_byte") or 0))
        while not search.is_over and time.monotonic() < deadline:
            search.look_at_block()
            call.beat()
        spans = _join(search.places, int(asked["around"]), size)
        pieces = [_read(file, begin, end) for begin, end in spans]
    values = {
        "size": size,
        "looked": search.at,
        "found": len(search.places),
        "spans": [[begin, len(piece)] for (begin, _), piece in zip(spans, pieces)],
    }
    return values, b"".join(pieces)


class _Search:
    """Block by block; several places in one line are one."""

    def __init__(self, file: "BinaryIO", words: bytes, ignores_case: bool, limit: int, size: int) -> None:
        self._file, self._words, self._ignores_case, self._limit, self._size = file, words, ignores_case, limit, size
        self.places: "List[int]" = []
        self.at = 0  # up to here was searched
        self._behind = 0  # the line of the last place ends here

    @property
    def is_over(self) -> bool:
        return self.at >= self._size or len(self.places) >= self._limit

    def look_at_block(self) -> None:
        begin = self.at
        content = _read(self._file, begin, begin + _BLOCK + len(self._words) - 1)
        block = content.lower() if self._ignores_case else content
        self.at = min(begin + _BLOCK, self._size) if content else self._size
        place = block.find(self._words, max(0, self._behind - begin))
        while place >= 0:
            self.places.append(begin + place)
            if len(self.places) >= self._limit:
                self.at = begin + place
                return
            self._behind = self._find_line_end(begin + place)
            place = block.find(self._words, self._behind - begin)

    def _find_line_end(self, place: int) -> int:
        """It may lie behind the block."""
        newline = _read(self._file, place, place + _LONGEST).find(b"\n")
        return place + (newline + 1 if newline >= 0 else _LONGEST)


def _join(places: "List[int]", around: int, size: int) -> "List[Any]":
    """Bytes around each, those that touch as one; not more than an answer holds."""
    spans: "List[Any]" = []
    left = _MOST_BYTES
    for place in places:
        begin, end = max(0, place - around), min(size, place + around)
        if spans and begin <= spans[-1][1]:
            begin = spans[-1][1]
            spans[-1][1] = max(end, begin)
        else:
            spans.append([begin, end])
        left -= max(0, end - begin)
        if left <= 0:
            break
    return spans


def _read(file: "BinaryIO", begin: int, end: int) -> bytes:
    file.seek(begin)
    return file.read(end - begin)
