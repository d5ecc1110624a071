"""What lies between the writer of a file and the slowest of its readers, in memory: the file itself is on no disk.

A packed environment is needed only until it is unpacked here and handed on. As a file each byte of it would be
written twice, in the tar and in what is unpacked from it, and take the room of both.
"""

from typing import Dict, Optional

UNPACKING, HANDING_ON = "unpacking", "handing on"
SIZE = 32 << 20  # whoever brings it waits for the readers then
_ALL = 1 << 62


class Window:
    """Used under the lock of whoever writes. A reader says that it will read before anything comes."""

    def __init__(self) -> None:
        self._ring: Optional[bytearray] = None
        self._at: Dict[str, int] = {}  # by reader: what lies before is not needed any more
        self._end = 0

    def join(self, reader: str) -> None:
        self._at[reader] = 0

    def advance(self, reader: str, offset: int = _ALL) -> None:
        if reader in self._at:
            self._at[reader] = offset

    def leave(self, reader: str) -> None:
        self._at.pop(reader, None)
        if not self._at:
            self._ring = None

    def begin_anew(self) -> None:
        """The same bytes come again, and not into the buffer from which one may be reading. None is handed on twice."""
        self._ring, self._end = None, 0
        self.advance(UNPACKING, 0)

    def has_room(self, count: int) -> bool:
        oldest = min(min(self._at.values()), self._end) if self._at else self._end
        return self._end + count - oldest <= SIZE

    def append(self, data: memoryview) -> None:
        """Not more than there is room for; where nobody reads any more it is dropped."""
        self._ring = self._ring or (bytearray(SIZE) if self._at else None)
        if self._ring is not None:
            begin = self._end % SIZE
            first = min(len(data), SIZE - begin)
            self._ring[begin : begin + first] = data[:first]
            self._ring[: len(data) - first] = data[first:]
        self._end += len(data)

    def view(self, offset: int, most: int) -> memoryview:
        """Some of what comes next; it stays as it is until this reader advances."""
        count = min(most, self._end - offset, SIZE - offset % SIZE)
        if self._ring is None or count <= 0:
            return memoryview(b"")
        return memoryview(self._ring)[offset % SIZE : offset % SIZE + count]
