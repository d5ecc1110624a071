"""Reads every shard against its index and its card, and names what is not as it was packed."""

import os
import threading
from zlib import crc32

from windlass_job import disk
from windlass_job.shards.card import load_card
from windlass_job.shards.index import Index, IndexDamaged, name_index
from windlass_job.shards.tarring import END, make_header, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterator, List, Optional

    from windlass_job.shards.card import Shard

_PIECE = 4 << 20
_WORKERS = 2


class Damage:
    """name: the file it concerns; None when it is about the whole shard."""

    def __init__(self, shard: str, problem: str, name: "Optional[bytes]" = None) -> None:
        self.shard = shard
        self.problem = problem
        self.name = name

    def make_line(self) -> str:
        return "{}: {}{}".format(
            self.shard, disk.as_text(self.name) + ": " if self.name is not None else "", self.problem
        )


def verify(
    folder: bytes, progress: "Callable[[int, int], None]" = lambda *_: None, workers: int = _WORKERS
) -> "List[Damage]":
    """Several shards at a time. progress: bytes read, of how many; called by one thread at a time."""
    shards = load_card(folder).shards
    total = sum(one.bytes for one in shards)
    found = [[] for _ in shards]  # type: List[List[Damage]]
    left, lock, done = list(range(len(shards)))[::-1], threading.Lock(), [0]
    errors = []  # type: List[BaseException]

    def report(count: int) -> None:
        with lock:
            done[0] += count
            progress(done[0], total)

    def work() -> None:
        while not errors:
            try:
                number = left.pop()
            except IndexError:
                return
            try:
                found[number] = list(verify_shard(folder, shards[number], report))
            except BaseException as error:  # raised again by whoever waits
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(min(workers, len(shards)) - 1)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [damage for part in found for damage in part]


def verify_shard(folder: bytes, shard: "Shard", report: "Callable[[int], None]" = lambda _: None) -> "Iterator[Damage]":
    path = os.path.join(folder, os.fsencode(shard.name))
    return verify_archive(path, os.path.join(folder, os.fsencode(name_index(shard.name))), shard, report)


def verify_archive(
    path: bytes, index_path: bytes, shard: "Shard", report: "Callable[[int], None]" = lambda _: None
) -> "Iterator[Damage]":
    """Wherever the two lie. The index first: without it nothing can be said about the files."""
    try:
        if crc32(disk.read_bytes(index_path)) != shard.index_crc:
            yield Damage(shard.name, "its index is not the one that was written with it")
            return
        index = Index(index_path)
        if len(index) != shard.files:
            count = len(index)
            index.close()
            yield Damage(shard.name, "the card says that it has {} files, and its index {}".format(shard.files, count))
            return
    except (OSError, IndexDamaged) as error:
        yield Damage(shard.name, "its index cannot be read: {}".format(error))
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError as error:
        index.close()
        yield Damage(shard.name, "it is missing" if isinstance(error, FileNotFoundError) else str(error))
        return
    try:
        for damage in _verify_content(handle, shard, index, report):
            yield damage
    finally:
        os.close(handle)
        index.close()


def _verify_content(handle: int, shard: "Shard", index: Index, report: "Callable[[int], None]") -> "Iterator[Damage]":
    size = os.fstat(handle).st_size
    if size != shard.bytes:
        yield Damage(shard.name, "it has {} bytes, and should have {}".format(size, shard.bytes))
    end = unreported = 0
    for at in range(len(index)):
        problem = _verify_file(handle, index, at)
        if problem:
            yield Damage(shard.name, problem, index.get_name(at))
        end = index.offsets[at] + index.sizes[at] + pad(index.sizes[at])
        if end - unreported > _PIECE:
            report(end - unreported)
            unreported = end
    if size == shard.bytes and _read(handle, size - len(END), len(END)) != END:
        yield Damage(shard.name, "its end is not that of an archive")
    report(shard.bytes - unreported)


def _verify_file(handle: int, index: Index, at: int) -> "Optional[str]":
    """Header, content and padding, of small files in one read."""
    start, size, crc = index.offsets[at], index.sizes[at], 0
    header = make_header(index.get_name(at), size, index.mtimes_ns[at] // 10**9)
    content = _read(handle, start - len(header), len(header) + min(size + pad(size), _PIECE))
    head, place = content[: len(header)], len(content) - len(header)
    crc = crc32(memoryview(content)[len(header) : len(header) + size])
    while place < size + pad(size):
        content = _read(handle, start + place, min(size + pad(size) - place, _PIECE))
        if not content:
            return "it is cut off after {} of {} bytes".format(max(min(place, size), 0), size)
        crc = crc32(memoryview(content)[: max(size - place, 0)], crc)
        place += len(content)
    if crc != index.crcs[at]:
        return "its {} bytes from byte {} on are not those that were packed".format(size, start)
    if head != header:
        return "its header before byte {} is damaged; its content is whole".format(start)
    if any(content[len(content) - pad(size) :]) and pad(size):
        return "the padding behind it is damaged; its content is whole"
    return None


def _read(handle: int, start: int, size: int) -> bytes:
    content = os.pread(handle, size, start) if start >= 0 else b""
    while len(content) < size:
        more = os.pread(handle, size - len(content), start + len(content))
        if not more:
            break
        content += more
    return content
