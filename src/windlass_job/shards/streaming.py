"""One shard, byte by byte as it is made: for a file on this disk, or for a wire without any file between.

The bytes depend on the files alone. Headers, contents and padding are laid out in one buffer that is used again and
again: a small file costs an open, a read and a close, and is copied once, by the kernel.
"""

from zlib import crc32

from windlass_job.shards import told as words
from windlass_job.shards.card import Shard
from windlass_job.shards.compressing import SUFFIX, squeeze
from windlass_job.shards.index import IndexWriter
from windlass_job.shards.readers import MemberDamaged
from windlass_job.shards.tarring import BLOCK, END, make_header, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from windlass_job.shards.cutting import Batch, Plan, ShardPlan
    from windlass_job.shards.told import Told

BUFFER = 4 << 20
LARGEST_SMALL = 1 << 20
_ROOM = 16 * BLOCK  # for a header with a very long name
_TRIES = 3
_BILLION = 10**9


class ShardStream:
    """Iterate the pieces to the end; then `index_bytes` and `about` say what they were."""

    def __init__(self, plan: "Plan", shard: "ShardPlan", reader: "Any", told: "Told", compress: bool = False) -> None:
        self._plan = plan
        self._shard = shard
        self._reader = reader
        self._told = told
        self._compress = compress
        self._index = IndexWriter()
        self._at = 0  # bytes given out
        self._view = memoryview(bytearray(BUFFER))
        self._used = 0  # bytes of the view
        self._damages: "List[OSError]" = []
        self.files = 0  # so far
        self.content_bytes = 0  # so far
        self.index_bytes = b""
        self.about = None  # type: Optional[Shard]

    def iterate_pieces(self) -> "Iterator[memoryview]":
        """Each is valid until the next is asked for."""
        for batch in self._plan.iterate_shard(self._shard):
            for piece in self._pack_batch(batch):
                yield piece
        if self._used + len(END) > BUFFER:
            yield self._give()
        self._put(END)
        yield self._give()
        self.index_bytes = self._index.make(self._at)
        self.about = Shard(self._shard.name, self._at, len(self._index), crc32(self.index_bytes))

    def _pack_batch(self, batch: "Batch") -> "Iterator[memoryview]":
        view, read, limit = self._view, self._reader.read_small, BUFFER - _ROOM
        names, sizes, mtimes, labels = batch.names, batch.sizes, batch.mtimes_ns, batch.labels
        wheres, columns, add = batch.wheres, batch.columns, self._index.add
        plain = not self._compress
        for at, size in enumerate(sizes):
            name, mtime = names[at], mtimes[at]
            where = wheres[at] if wheres else None
            extra = columns[at] if columns else None
            if size < LARGEST_SMALL and len(name) < LARGEST_SMALL and plain:
                used = self._used
                header = make_header(name, size, mtime // _BILLION)
                start = used + len(header)
                end = start + size
                if end > limit:
                    yield self._give()
                    used, start, end = 0, len(header), len(header) + size
                try:
                    # One byte more than it should have: a file that has grown shows it.
                    count = read(name, where, view[start : end + 1])
                except OSError as error:
                    self._tell_unread(name, error)
                    continue
                if count == size:
                    view[used:start] = header
                    after = end + -size % BLOCK
                    view[end:after] = bytes(after - end)
                    add(name, self._at + start, size, crc32(view[start:end]), mtime, labels[at], extra)
                    self._used = after
                    self.files += 1
                    self.content_bytes += size
                    continue
            for piece in self._pack_slowly(name, where, size, mtime, labels[at], extra):
                yield piece

    def _pack_slowly(
        self, name: bytes, where: "Any", size: int, mtime: int, label: int, columns: "Optional[Dict[str, Any]]"
    ) -> "Iterator[memoryview]":
        """Large files, those that are not as they were planned, and those to be compressed."""
        for _ in range(_TRIES):
            try:
                stored, file = self._open(name, where)
            except OSError as error:
                self._tell_unread(name, error)
                return
            try:
                for piece in self._put_head(make_header(stored, file.size, mtime // _BILLION)):
                    yield piece
                entry = self._at + self._used
                self._left, self._crc, damages = file.size, 0, len(self._damages)
                for piece in self._copy(file):
                    yield piece
                is_whole = not self._left
                for piece in self._fill(self._left + pad(file.size)):
                    yield piece
                if is_whole:
                    if file.has_changed() or (file.size != size and not self._compress):
                        self._told.add(words.CHANGED, name)
                    self._index.add(stored, entry, file.size, self._crc, mtime, label, columns)
                    self.files += 1
                    self.content_bytes += file.size
                    return
            finally:
                file.close()
            if len(self._damages) > damages:
                self._tell_unread(name, self._damages[-1])
                return
            # It became shorter than its header says. Nothing refers to that entry, and it comes again behind it:
            # tar, too, keeps the later one.
        self._told.add(words.RESTLESS, name)

    def _tell_unread(self, name: bytes, error: OSError) -> None:
        self._told.add(words.DAMAGED if isinstance(error, MemberDamaged) else words.UNREADABLE, name)

    def _open(self, name: bytes, where: "Any") -> "Tuple[bytes, Any]":
        file = self._reader.open_checked(name, where)
        if not self._compress or self._reader.has(name + SUFFIX, where):
            return name, file
        try:
            return squeeze(name, file)
        except OSError:
            file.close()
            raise

    def _put_head(self, header: bytes) -> "Iterator[memoryview]":
        for start in range(0, len(header), LARGEST_SMALL):
            part = header[start : start + LARGEST_SMALL]
            if self._used + len(part) > BUFFER:
                yield self._give()
            self._put(part)

    def _copy(self, file: "Any") -> "Iterator[memoryview]":
        """Stops early where the file does."""
        while self._left:
            if self._used == BUFFER:
                yield self._give()
            room = self._view[self._used : self._used + self._left]
            try:
                count = file.readinto(room)
            except MemberDamaged as error:
                self._damages.append(error)
                return
            except OSError:
                return
            if not count:
                return
            self._crc = crc32(room[:count], self._crc)
            self._used += count
            self._left -= count

    def _fill(self, count: int) -> "Iterator[memoryview]":
        while count:
            if self._used == BUFFER:
                yield self._give()
            part = min(count, BUFFER - self._used)
            self._put(bytes(part))
            count -= part

    def _put(self, content: bytes) -> None:
        self._view[self._used : self._used + len(content)] = content
        self._used += len(content)

    def _give(self) -> memoryview:
        piece = self._view[: self._used]
        self._at += self._used
        self._used = 0
        return piece
