"""Shards onto a disk: aside, flushed, renamed, each by one of several processes. What is under its name is whole."""

import errno
import fcntl
import json
import os
import select
import signal
import threading
import time

from windlass_job import disk
from windlass_job.shards.card import Shard
from windlass_job.shards.index import name_index
from windlass_job.shards.told import Told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set

    from windlass_job.shards.cutting import ShardPlan
    from windlass_job.shards.packing import Packing

    Message = Dict[str, Any]

PART = b".part"
_TOO_LARGE = disk.NO_SPACE + (errno.EFBIG,)
_MOST_WORKERS = 4
_FLUSHED_EARLY = 8 << 20


class PackFailed(Exception):
    """Nothing was changed for readers; `is_full` when space ran out, `option` with which the command would do it.

    is_refusal: it was not even begun.
    """

    def __init__(
        self, problem: str, is_full: bool = False, option: "Optional[str]" = None, is_refusal: bool = False
    ) -> None:
        Exception.__init__(self, problem)
        self.is_full = is_full
        self.option = option
        self.is_refusal = is_refusal or option is not None


class Writer:
    """Takes shards as they become certain, and writes them while the rest is still being looked for.

    In processes, because most of the work on small files is Python's own. Not in a program with threads, where a fork
    takes only one of them along with whatever locks the others held; then one after another, in this process.
    """

    def __init__(self, packing: "Packing", folder: bytes, progress: "Callable[[int, int, int, int], None]") -> None:
        self._packing = packing
        self._folder = folder
        self._progress = progress
        self._waiting = []  # type: List[ShardPlan]
        self._offered: "Set[str]" = set()
        self._made = {}  # type: Dict[str, Shard]
        self._children = {}  # type: Dict[int, _Child]
        self._workers = _choose_workers(packing)
        self._done = [0, 0]
        self.kept = 0  # shards that were there already

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: "Any") -> None:
        for child in self._children.values():
            child.end()
        for name in self._offered:
            disk.remove_if_there(_name_part(self._folder, name))

    def offer(self, shard: "Optional[ShardPlan]") -> None:
        """None: nothing new, but a chance to go on."""
        if shard is not None:
            self._take_in(shard)
        if self._workers > 1:
            self._run(self._workers - 1)  # one is busy here, looking for files

    def write_rest(self) -> "List[Shard]":
        """All shards of the plan, when they are on the disk."""
        for shard in self._packing.shards:
            if shard.name not in self._offered:
                self._take_in(shard)
        check_space(sum(one.bytes for one in self._waiting), self._folder)
        if self._workers == 1:
            for message in _write_each(self._packing, self._waiting, self._folder):
                self._take(message)
        else:
            while self._waiting or self._children:
                self._run(self._workers, wait_s=1.0)
        if len(self._made) < len(self._packing.shards):
            raise PackFailed("a process that packed was killed: perhaps memory ran out")
        return [self._made[shard.name] for shard in self._packing.shards]

    def _take_in(self, shard: "ShardPlan") -> None:
        self._offered.add(shard.name)
        found = self._packing.find_finished(shard, self._folder)
        if found is None:
            self._waiting.append(shard)
            return
        self._made[shard.name] = found
        self.kept += 1
        self._report(shard.files, shard.content_bytes)

    def _run(self, workers: int, wait_s: float = 0.0) -> None:
        while self._waiting and sum(not child.is_written for child in self._children.values()) < workers:
            shard = self._waiting.pop(0)
            check_space(shard.bytes, self._folder)
            child = _Child(self._packing, shard, self._folder)
            self._children[child.answers] = child
        if not self._children:
            return
        for answers in select.select(list(self._children), [], [], wait_s)[0]:
            for message in self._children[answers].read():
                self._take(message)
            if self._children[answers].is_over:
                self._children.pop(answers).end()

    def _take(self, message: "Message") -> None:
        if "problem" in message:
            raise PackFailed(message["problem"], message["is_full"])
        self._report(message["files"], message["bytes"])
        if "shard" in message:
            found = message["shard"]
            self._made[found["name"]] = Shard(found["name"], found["bytes"], found["files"], found["index_crc"])
            self._packing.content_bytes[found["name"]] = message["content_bytes"]
            self._packing.told.join(message["told"]["counts"], message["told"]["examples"])

    def _report(self, files: int, size: int) -> None:
        self._done[0] += files
        self._done[1] += size
        self._progress(self._done[0], self._done[1], self._packing.files, self._packing.plan.bytes)


class _Child:
    """A process that writes one shard. `is_written` while it only waits for the disk."""

    def __init__(self, packing: "Packing", shard: "ShardPlan", folder: bytes) -> None:
        self.answers, answer = os.pipe()
        self.is_written = False
        self.is_over = False
        self._rest = b""
        parent, self._pid = os.getpid(), os.fork()
        if self._pid == 0:
            _work(packing, shard, folder, answer, parent)
        os.close(answer)

    def read(self) -> "List[Message]":
        more = os.read(self.answers, 1 << 16)
        self.is_over = not more
        lines = (self._rest + more).split(b"\n")
        self._rest = lines.pop()
        messages = [json.loads(line.decode("ascii")) for line in lines]
        self.is_written = self.is_written or any("is_written" in message for message in messages)
        return messages

    def end(self) -> None:
        try:
            os.kill(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self._pid, 0)
        os.close(self.answers)


def _work(packing: "Packing", shard: "ShardPlan", folder: bytes, answer: int, parent: int) -> None:
    """In the child; does not come back."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for message in _write_each(packing, [shard], folder):
            if os.getppid() != parent:  # it was killed, and somebody else may be packing here soon
                break
            _write(answer, memoryview(json.dumps(message).encode("ascii") + b"\n"))
        code = 0
    finally:
        os._exit(code)


def _choose_workers(packing: "Packing") -> int:
    if packing.source.is_sequential or threading.active_count() > 1 or not hasattr(os, "fork"):
        return 1
    try:
        cpus = len(os.sched_getaffinity(0))
    except AttributeError:
        cpus = os.cpu_count() or 1
    return packing.settings.workers or min(cpus, _MOST_WORKERS)


def check_space(needed: int, folder: bytes) -> None:
    seen = os.statvfs(folder)
    free = seen.f_bavail * seen.f_frsize
    if needed > free:
        raise PackFailed(
            "{} has {} MB free, and the shards need {} MB".format(disk.as_text(folder), free >> 20, (needed >> 20) + 1),
            is_full=True,
        )


def _write_each(packing: "Packing", shards: "List[ShardPlan]", folder: bytes) -> "Iterator[Message]":
    """One after another. The last one is brought to the disk while the next one is made."""
    last: "Optional[_Finishing]" = None
    for shard in shards:
        told = Told()
        stream = packing.stream(shard, told)
        part = _name_part(folder, shard.name)
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            files = size = written = begun = 0
            for piece in stream.iterate_pieces():
                _write(handle, piece)
                written += len(piece)
                if written - begun >= _FLUSHED_EARLY:
                    disk.begin_flush(handle, begun, written)
                    begun = written
                yield {"files": stream.files - files, "bytes": stream.content_bytes - size}
                files, size = stream.files, stream.content_bytes
            if last is not None:
                yield last.wait()
        except OSError as error:
            yield _explain(error, shard.name, folder)
            return
        last = _Finishing(handle, part, stream, told)
        yield {"files": 0, "bytes": 0, "is_written": True}
    if last is not None:
        yield last.wait()


class _Finishing:
    """Flushes, names and indexes one shard, in a thread."""

    def __init__(self, handle: int, part: bytes, stream: "Any", told: Told) -> None:
        self._handle = handle
        self._part = part
        self._stream = stream
        self._told = told
        self._error: "Optional[OSError]" = None
        self._thread = threading.Thread(target=self._finish)
        self._thread.start()

    def wait(self) -> "Message":
        self._thread.join()
        about = self._stream.about
        if self._error is not None:
            return _explain(self._error, about.name, os.path.dirname(self._part))
        return {
            "files": 0,
            "bytes": 0,
            "shard": about.as_json(),
            "content_bytes": self._stream.content_bytes,
            "told": self._told.as_json(),
        }

    def _finish(self) -> None:
        folder, name = os.path.dirname(self._part), self._stream.about.name
        index = os.path.join(folder, os.fsencode(name_index(name)))
        try:
            try:
                os.fsync(self._handle)
            finally:
                os.close(self._handle)
            # An older index must never lie beside the new shard, nor a shard without one: that is not known for ours.
            disk.remove_if_there(os.path.join(folder, os.fsencode(name)))
            disk.replace(index, self._stream.index_bytes)
            os.rename(self._part, os.path.join(folder, os.fsencode(name)))
        except OSError as error:
            self._error = error


def _write(handle: int, piece: memoryview) -> None:
    while len(piece):
        piece = piece[os.write(handle, piece) :]


def _explain(error: OSError, shard: str, folder: bytes) -> "Message":
    is_full = error.errno in _TOO_LARGE
    problem = "no space is left" if is_full else str(error)
    return {
        "problem": "{} could not be written to {}: {}".format(shard, disk.as_text(folder), problem),
        "is_full": is_full,
    }


def _name_part(folder: bytes, shard: str) -> bytes:
    return os.path.join(folder, b"." + os.fsencode(shard) + PART)


class FolderLock:
    """One packer at a time in a folder. Where the file system knows no locks, there is none."""

    def __init__(self, folder: bytes, patience_s: float = 5.0) -> None:
        self._path = os.path.join(folder, b".packing")
        ends = time.monotonic() + patience_s  # children of a packer that was killed go within moments
        while not self._try():
            if time.monotonic() > ends:
                raise PackFailed("somebody else is packing in {}".format(disk.as_text(folder)))
            time.sleep(0.05)

    def __enter__(self) -> "FolderLock":
        return self

    def __exit__(self, *_: "Any") -> None:
        disk.remove_if_there(self._path)
        os.close(self._handle)

    def _try(self) -> bool:
        self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            return False
        except OSError:
            return True
        if os.fstat(self._handle).st_nlink:
            return True
        os.close(self._handle)  # who held it before removed it
        return False
