"""Files from a site over several sessions at once: into parts that go on where they were cut, verified and renamed."""

import threading
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from windlass.edges.data_stream import DataStream
from windlass.edges.downloads import Part, Target, Wanted
from windlass.edges.host import Reply
from windlass.errors import TransferFailed

Progress = Callable[[int, int], None]
_LARGE = 1 << 20  # a small one that a power cut takes is fetched again; waiting for the disk 10,000 times is not borne
_AHEAD = 32  # small files asked for before the first is here: at 20 ms each would wait for the one before


@dataclass(frozen=True, kw_only=True)
class Item:
    """One file: what it is to be here, and where it is read. mode None: as new files are made."""

    wanted: Wanted
    base: str
    name: str  # there, below `base`
    mode: int | None = None


class Getter:
    """`check` looks into a part that is whole, before it takes its name; its word is why it is refused."""

    def __init__(
        self,
        target: Target,
        items: Sequence[Item],
        *,
        progress: Progress,
        check: Callable[[Item, Part], str | None] = lambda item, part: None,
        before: Callable[[Item], str] = lambda item: item.base,
    ) -> None:
        self._target = target
        self._left = deque(one for one in items if not target.has(one.wanted))
        self._check = check
        self._before = before
        self._progress = progress
        self._total = sum(one.wanted.size for one in self._left)
        self._lock = threading.Lock()
        self._done = 0
        self._stop = threading.Event()
        self.fetched_bytes = 0

    def get(self, streams: Sequence[DataStream]) -> None:
        self._target.prepare()
        pool = ThreadPoolExecutor(len(streams))
        try:
            workers = [pool.submit(self._work, stream) for stream in streams]
            for worker in workers:
                worker.result()
        except BaseException:  # Ctrl-C too: the other threads must not go on
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        self._target.clean_up()

    def _work(self, stream: DataStream) -> None:
        coming: deque[_Coming] = deque()
        try:
            while not self._stop.is_set():
                while len(coming) < _AHEAD and (item := self._take()) is not None:
                    coming.append(self._ask(stream, item))
                if not coming:
                    return
                self._finish(coming.popleft())
        except BaseException:  # as above
            self._stop.set()
            raise
        finally:
            for one in coming:
                one.part.close()

    def _take(self) -> Item | None:
        try:
            return self._left.popleft()
        except IndexError:
            return None

    def _ask(self, stream: DataStream, item: Item) -> "_Coming":
        base = self._before(item)
        coming = _Coming(item, self._target.open_part(item.wanted), self._count)
        self._count(coming.part.written, is_new=False)
        coming.reply = stream.post(
            "give",
            piece=coming.write,
            base=base,
            name=item.name,
            start=coming.part.written,
            end=item.wanted.size,
        )
        return coming

    def _finish(self, coming: "_Coming") -> None:
        assert coming.reply is not None
        try:
            told = coming.reply.result().values
        finally:
            coming.part.close(is_durable=coming.item.wanted.size >= _LARGE)
        if coming.problem is not None:
            raise coming.problem
        item = coming.item
        why = self._judge(item, coming, int(told["crc"]))
        if why is not None:
            self._target.drop_part(item.wanted)
            raise TransferFailed(f"{item.wanted.name}: {why}", hint="the same command fetches it again")
        if item.mode is not None:
            coming.part.path.chmod(item.mode & 0o777)
        self._target.finish(item.wanted)

    def _judge(self, item: Item, coming: "_Coming", crc: int) -> str | None:
        if coming.part.written != item.wanted.size:
            return "it became shorter while it was fetched"
        if coming.crc != crc:
            return "it arrived damaged, or changed meanwhile"
        return self._check(item, coming.part)

    def _count(self, count: int, *, is_new: bool = True) -> None:
        with self._lock:
            self._done += count
            self.fetched_bytes += count if is_new else 0
            self._progress(min(self._done, self._total), self._total)


class _Coming:
    """Pieces are written by the thread that hears them; what goes wrong there is told by the one that waits."""

    def __init__(self, item: Item, part: Part, count: Callable[[int], None]) -> None:
        self.item = item
        self.part = part
        self.crc = _count_crc(part)
        self.reply: Future[Reply] | None = None
        self.problem: Exception | None = None
        self._count = count

    def write(self, piece: memoryview) -> None:
        if self.problem is not None:
            return
        try:
            self.part.write(bytes(piece))
        except Exception as problem:  # raised again in the thread that waits
            self.problem = problem
            return
        self.crc = zlib.crc32(piece, self.crc)
        self._count(len(piece))


def _count_crc(part: Part) -> int:
    crc = 0
    if part.written:
        with part.path.open("rb") as file:
            while block := file.read(1 << 20):
                crc = zlib.crc32(block, crc)
    return crc
