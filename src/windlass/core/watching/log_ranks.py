"""Lines of one rank among those of many, found by how they begin: no other line is taken apart."""

from collections.abc import Iterator, Sequence

from windlass.core.watching.log_search import Buffer, Hit, Span, count_lines, find_line_begin, find_line_end

FAR = 32 << 20  # bytes that are looked at for a page
_BLOCK = 4 << 20


def make_rank_marks(rank: int) -> tuple[bytes, ...]:
    """How a line of this rank begins."""
    return (f"[rank{rank}]:".encode(), f"[default{rank}]:".encode(), f"{rank}: ".encode())


def find_back_marked(
    buffer: Buffer, span: Span, marks: Sequence[bytes], *, most: int, far: int = FAR
) -> tuple[list[int], int]:
    """Where the last lines of the span with one of these marks begin, at most so many, and how far was looked back."""
    floor, stop = span
    lowest = max(floor, stop - far)
    found: list[int] = []
    while stop > lowest and len(found) < most:
        start = max(lowest, stop - _BLOCK)
        newline = buffer.find(b"\n", start, stop - 1) if start > floor else -1
        start = start if newline < 0 else newline + 1
        found[:0] = [start + at for at in _list_marked(buffer[start:stop], marks)]
        stop = start
    return (found[-most:], found[-most]) if len(found) >= most else (found, stop)


def find_marked(
    buffer: Buffer, span: Span, marks: Sequence[bytes], *, most: int, far: int = FAR
) -> tuple[list[int], int]:
    """The same for the first ones, and how far was looked. The span begins where a line does."""
    begin, end = span
    highest = min(end, begin + far)  # whole lines may be looked at a little beyond
    found: list[int] = []
    while begin < highest and len(found) <= most:
        stop = _find_cut(buffer, begin, end)
        found += [begin + at for at in _list_marked(buffer[begin:stop], marks)]
        begin = stop
    return (found[:most], found[most]) if len(found) > most else (found, begin)


def search_marked(
    buffer: Buffer, wanted: bytes, span: Span, marks: Sequence[bytes], *, ignores_case: bool
) -> Iterator[Hit]:
    """Lines with one of these marks that hold what is wanted, which is in small letters where those stand for all."""
    begin, end = span
    start, counted, lines = begin, begin, 0
    while start < end:
        stop = _find_cut(buffer, start, end)
        block = buffer[start:stop]
        for line, at in _find_in_marked(block.lower() if ignores_case else block, wanted, marks):
            line_begin = find_line_begin(buffer, start + at, start + line)
            lines += count_lines(buffer, counted, start + line)
            counted = start + line
            line_end = find_line_end(buffer, start + at, end)
            yield Hit(at=start + at, begin=line_begin, end=line_end, number=lines + 1 if begin == 0 else None)
        start = stop


def _find_in_marked(block: bytes, wanted: bytes, marks: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Where such a line begins, and where the words stand in it. Whichever of the two is rarer sets the pace."""
    lines = _Lines(block, marks)
    line = lines.find(0)
    while line is not None:
        word = block.find(wanted, line)
        if word < 0:
            return
        newline = block.find(b"\n", line)
        stop = len(block) if newline < 0 else newline
        if word < stop:
            yield line, word
            line = lines.find(stop + 1)
        else:
            line = lines.find(block.rfind(b"\n", stop, word) + 1)


def _list_marked(block: bytes, marks: Sequence[bytes]) -> list[int]:
    lines, found = _Lines(block, marks), list[int]()
    line = lines.find(0)
    while line is not None:
        found.append(line)
        line = lines.find(line + 1)
    return found


class _Lines:
    """Those of a block that begin with one of the marks, asked for from its beginning to its end."""

    def __init__(self, block: bytes, marks: Sequence[bytes]) -> None:
        self._block = block
        self._heads = {b"\n" + mark: -1 if not block.startswith(mark) else 0 for mark in marks}  # where the next one is

    def find(self, at: int) -> int | None:
        """Where the next one begins, here or behind."""
        for head, known in self._heads.items():
            if known < at:
                newline = self._block.find(head, max(0, at - 1))
                self._heads[head] = newline + 1 if newline >= 0 else len(self._block)
        line = min(self._heads.values())
        return line if line < len(self._block) else None


def _find_cut(buffer: Buffer, start: int, end: int) -> int:
    """The end of a block of whole lines; of one without end a piece."""
    stop = min(start + _BLOCK, end)
    newline = buffer.rfind(b"\n", start, stop) if stop < end else -1
    return stop if newline < 0 else newline + 1
