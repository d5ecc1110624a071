"""The folder of an environment, as it stands in its own files: found where it is packed, replaced where it is unpacked.

Text gets the new path as it is. In a binary a string cannot grow: it is filled up with NULs, as conda does it, and only
programs, libraries and what conda lists are touched: a pickle or a database counts its letters.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

VERSION = 1  # of what stands in TABLE
TABLE = b".windlass-env.json"  # the last entry of a packed environment: where its own path stands in its files
TEXT, BINARY = "text", "binary"
_SHEBANG = b"#!"
_LONGEST_SHEBANG = 127  # Linux before 5.1 cuts what is longer
_PROGRAMS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # Linux, macOS
_COMPILED = (b".pyc", b".pyo")  # Python itself puts the right path into what it loads
_IN_NAMES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@~")

Spot = Tuple[int, int]  # where, and which of the prefixes

Found = NamedTuple(
    "Found",
    [
        ("kind", str),
        ("room", int),  # binary: how many NULs behind each prefix are its own
        ("spots", List[Spot]),
    ],
)


class Finder:
    """Looks for the prefixes in a file that comes in pieces."""

    def __init__(self, prefixes: Sequence[bytes]) -> None:
        """The longest first: one may begin like another."""
        self._prefixes = sorted(set(prefixes), key=lambda one: (-len(one), one))
        self._keep = max(map(len, self._prefixes))
        self._needle = _find_common(self._prefixes)
        self.begin()

    @property
    def prefixes(self) -> "List[bytes]":
        return list(self._prefixes)

    def begin(self) -> None:
        self._head = b""
        self._tail = b""
        self._offset = 0  # of the tail
        self._has_nul = False
        self._spots: Dict[int, int] = {}

    def feed(self, piece: bytes) -> None:
        if not self._head:
            self._head = piece[:4]
        self._has_nul = self._has_nul or b"\0" in piece
        data = self._tail + piece if self._tail else piece
        if self._needle in data:
            self._look(data)
        kept = min(len(data), self._keep)  # with the letter behind, which tells whether a name goes on
        self._offset += len(data) - kept
        self._tail = data[len(data) - kept :]

    def end(self, name: bytes, room: Optional[int]) -> Optional[Found]:
        """room: of a binary that may be changed, how much longer its paths may become. None: nothing is to be done."""
        if self._tail:
            self._look(self._tail, is_last=True)
        spots = self._list_spots()
        if not spots or name.endswith(_COMPILED):
            return None
        if not self._has_nul:
            return Found(TEXT, 0, spots)
        if room is None and self._head not in _PROGRAMS:
            return None
        return Found(BINARY, room or 0, spots)

    def _list_spots(self) -> "List[Spot]":
        """Without those within another: /scratch/x also stands in /mnt/scratch/x."""
        kept: List[Spot] = []
        after = 0
        for at, which in sorted(self._spots.items()):
            if at >= after:
                kept.append((at, which))
                after = at + len(self._prefixes[which])
        return kept

    def _look(self, data: bytes, is_last: bool = False) -> None:
        for which, prefix in enumerate(self._prefixes):
            at = data.find(prefix)
            while at >= 0:
                end = at + len(prefix)
                goes_on = end < len(data) and data[end] in _IN_NAMES
                is_known = end < len(data) or is_last
                if is_known and not goes_on:
                    self._spots.setdefault(self._offset + at, which)
                at = data.find(prefix, at + 1)


def replace_text(content: bytes, found: Found, prefixes: Sequence[bytes], new: bytes) -> bytes:
    """A first line that has become too long for Linux looks its program up instead."""
    done = _replace(content, found.spots, prefixes, new)
    line, newline, rest = done.partition(b"\n")
    if not line.startswith(_SHEBANG) or (len(line) <= _LONGEST_SHEBANG and b" " not in new):
        return done
    words = content.partition(b"\n")[0][len(_SHEBANG) :].split()
    return _SHEBANG + b"/usr/bin/env " + words[0].rpartition(b"/")[2] + newline + rest if words else done


def replace_binary(content: bytearray, found: Found, prefixes: Sequence[bytes], new: bytes) -> int:
    """In place. How many strings had no room for the new one, and are as they were."""
    failed, spots = 0, list(found.spots)
    while spots:
        begin = spots[0][0]
        end = content.find(b"\0", begin)
        end = len(content) if end < 0 else end
        inside = [spot for spot in spots if spot[0] < end]
        spots = spots[len(inside) :]
        old = bytes(content[begin:end])
        text = _replace(old, [(at - begin, which) for at, which in inside], prefixes, new)
        room = len(old) + found.room * len(inside)
        if len(text) > room or content[end : end + len(text) - len(old)].strip(b"\0"):
            failed += 1
            continue
        whole = max(len(text), len(old))
        content[begin : begin + whole] = text.ljust(whole, b"\0")
    return failed


def replace_in_value(value: str, prefixes: Sequence[str], new: str) -> str:
    """In a variable of the environment: whole names only."""
    finder = Finder([one.encode("utf-8", "surrogateescape") for one in prefixes])
    content = value.encode("utf-8", "surrogateescape")
    finder.feed(content)
    found = finder.end(b"", None)
    if found is None:
        return value
    done = _replace(content, found.spots, finder.prefixes, new.encode("utf-8", "surrogateescape"))
    return done.decode("utf-8", "surrogateescape")


def _replace(content: bytes, spots: Sequence[Spot], prefixes: Sequence[bytes], new: bytes) -> bytes:
    parts, after = [], 0
    for at, which in spots:
        if content[at : at + len(prefixes[which])] != prefixes[which]:
            raise ValueError("the file is not the one that was packed")
        parts += [content[after:at], new]
        after = at + len(prefixes[which])
    return b"".join(parts + [content[after:]])


def _find_common(prefixes: Sequence[bytes]) -> bytes:
    """What all of them hold: most files are done with after one look for it."""
    first, last = min(prefixes), max(prefixes)
    common = 0
    while common < min(len(first), len(last)) and first[common] == last[common]:
        common += 1
    return first[:common]
