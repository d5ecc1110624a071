"""Shards over several sessions at once: each goes on where it was cut, is checked at the site, and only then counts."""

import threading
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from windlass.app.data.sending_jobs import ShardJob
from windlass.edges.data_stream import DataStream, StreamFailed
from windlass.edges.host import Json, Reply
from windlass_job.shards.card import Shard
from windlass_job.shards.index import name_index

Progress = Callable[[int, int], None]
Bring = Callable[[ShardJob, str, Json], Json]  # from the landing place to the target
KeepIndex = Callable[[str, bytes], None]


class Meter:
    """How many bytes are at the site, of how many; told from several threads, one at a time."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done: dict[str, int] = {}
        self._lock = threading.Lock()

    def tell(self, plan: str, done: int) -> None:
        with self._lock:
            self._done[plan] = done
            self._progress(min(sum(self._done.values()), self._total), self._total)


class Stopped(Exception):
    """Another session failed: its error is the one to tell."""


@dataclass(frozen=True, kw_only=True)
class _OnItsWay:
    job: ShardJob
    name: str
    reply: Future[Reply] | None = None
    record: Json | None = None  # it lies at the landing place


class Sender:
    """parts, done: what the site had when we began. bring: where there is a landing place."""

    def __init__(
        self,
        jobs: Sequence[tuple[ShardJob, str]],
        *,
        parts: Json,
        done: Json,
        progress: Progress,
        keep_index: KeepIndex,
        bring: Bring | None = None,
        landed: Json | None = None,
    ) -> None:
        self._left = deque(jobs)
        self._parts = parts
        self._done = done
        self._landed = landed or {}
        self._bring = bring
        self._keep_index = keep_index
        self._stop = threading.Event()
        self.sent_bytes = 0
        self._counting = threading.Lock()
        self._meter = Meter(progress, sum(job.bytes for job, _ in jobs))
        self._shards: dict[str, Shard] = {}

    def send(self, streams: Sequence[DataStream]) -> dict[str, Shard]:
        """All of them, or the first error; what came before it is at the site and counts the next time."""
        for stream in streams:
            stream.on_ack = self._meter.tell
        pool = ThreadPoolExecutor(len(streams))
        try:
            workers = [pool.submit(self._work, stream) for stream in streams]
            errors = [error for worker in workers if (error := worker.exception()) is not None]
            real = [error for error in errors if not isinstance(error, Stopped)]
            if errors:
                raise (real or errors)[0]
            return self._shards
        except BaseException:  # Ctrl-C too: the other threads must not go on
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, stream: DataStream) -> None:
        """The site checks one shard while the next is on its way."""
        on_its_way: _OnItsWay | None = None
        try:
            while (taken := self._take()) is not None:
                started = self._start(stream, *taken)
                if on_its_way is not None:
                    self._settle(stream, on_its_way)
                on_its_way = started
            if on_its_way is not None:
                self._settle(stream, on_its_way)
        except BaseException:  # as above
            self._stop.set()
            raise

    def _take(self) -> tuple[ShardJob, str] | None:
        try:
            return self._left.popleft()
        except IndexError:
            return None

    def _start(self, stream: DataStream, job: ShardJob, name: str) -> "_OnItsWay | None":
        if job.plan in self._done:
            self._count(job, self._done[job.plan])
            return None
        if job.plan in self._landed:
            return _OnItsWay(job=job, name=name, record=self._landed[job.plan])
        start = min(int(self._parts.get(job.plan, 0)), job.bytes)
        return _OnItsWay(job=job, name=name, reply=self._pour(stream, job, name, start))

    def _settle(self, stream: DataStream, one: "_OnItsWay") -> None:
        record = one.record or self._wait_for(stream, one)
        self._count(one.job, self._bring(one.job, one.name, record) if self._bring else record)

    def _wait_for(self, stream: DataStream, one: "_OnItsWay") -> Json:
        assert one.reply is not None
        try:
            return one.reply.result().values
        except StreamFailed as failed:
            if failed.reply.kind != "damaged":
                raise
            problem = one.job.find_damage()
            if problem is not None:
                raise problem from failed
        # Once more, from its beginning: what lay there from before may have been another file's.
        return self._pour(stream, one.job, one.name, 0).result().values

    def _count(self, job: ShardJob, record: Json) -> None:
        job.recall(record.get("about") or {})
        self._shards[job.plan] = _read_record(record)
        self._meter.tell(job.plan, job.bytes)

    def _pour(self, stream: DataStream, job: ShardJob, name: str, start: int) -> Future[Reply]:
        stream.write("put", plan=job.plan, name=name, start=start)
        pourer = _Pourer(stream, start, self._stop)
        made = job.send(pourer.write)
        self._keep_index(name_index(name), made.index)
        with self._counting:
            self.sent_bytes += pourer.sent + len(made.index)
        return stream.post(
            "index", made.index, crc=pourer.crc, size=pourer.total, check=job.check_files, about=made.about
        )


class _Pourer:
    """Passes on what lies behind `start`, and counts the checksum of all."""

    def __init__(self, stream: DataStream, start: int, stop: threading.Event) -> None:
        self._stream = stream
        self._start = start
        self._stop = stop
        self.crc = 0
        self.total = 0
        self.sent = 0

    def write(self, piece: memoryview) -> None:
        if self._stop.is_set():
            raise Stopped
        self.crc = zlib.crc32(piece, self.crc)
        begin = max(0, self._start - self.total)
        self.total += len(piece)
        if begin < len(piece):
            self._stream.write("data", piece[begin:])
            self.sent += len(piece) - begin


def _read_record(record: Json) -> Shard:
    return Shard(str(record["name"]), int(record["bytes"]), int(record["files"]), int(record["index_crc"]))
