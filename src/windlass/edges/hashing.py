"""Reading files to know their hashes, and remembering those of files that did not change since."""

import contextlib
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from windlass.core.selection import HEAD_BYTES, holds_private_key
from windlass.edges.files import make_private_folder, save_file
from windlass.errors import WindlassError

_CHUNK = 1 << 20
_TRIES = 3
_CACHE_VERSION = 1
# A file may change twice within one tick of its filesystem's clock (2 s on FAT): one that young is not remembered.
_SETTLED_NS = 2_000_000_000
_HELD_BYTES = 32_000_000

_Mark = tuple[int, int, int, int]  # size, mtime, ctime, inode


@dataclass(frozen=True, kw_only=True)
class Hashed:
    sha256: str
    size: int
    holds_key: bool


class UnsteadyFile(Exception):
    """It changed each time it was read."""


class _CacheFile(msgspec.Struct, array_like=True):
    version: int
    files: dict[str, tuple[_Mark, bytes, bool]]


@dataclass(kw_only=True)
class Hasher:
    """`held`: contents of files so young that they may still change: what was hashed is what will be sent."""

    cache_file: Path | None
    now: float
    held: dict[str, bytes] = field(default_factory=dict)
    _held_bytes: int = 0
    _known: dict[str, tuple[_Mark, bytes, bool]] = field(default_factory=dict)
    _seen: dict[str, tuple[_Mark, bytes, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cache_file is not None:
            self._known = _load_cache(self.cache_file)

    def find(self, path: str, status: os.stat_result) -> Hashed | None:
        """What is remembered of an unchanged file."""
        known = self._known.get(path)
        if known is None or known[0] != _make_mark(status):
            return None
        self._seen[path] = known
        return Hashed(sha256=known[1].hex(), size=status.st_size, holds_key=known[2])

    def read(self, path: str, file: str, *, follow: bool = False) -> Hashed:
        """Read and hash; again when it changed meanwhile. OSError, UnsteadyFile."""
        for _ in range(_TRIES):
            hashed, mark, content = _read_once(file, follow=follow)
            if mark is not None:
                break
        else:
            raise UnsteadyFile(path)
        if max(mark[1], mark[2]) < self.now * 1e9 - _SETTLED_NS:
            self._seen[path] = (mark, bytes.fromhex(hashed.sha256), hashed.holds_key)
        elif content is not None and self._held_bytes + len(content) <= _HELD_BYTES:
            self.held[hashed.sha256] = content
            self._held_bytes += len(content)
        return hashed

    def save(self) -> None:
        """Only a cache: where it cannot be written, the next snapshot reads the files again."""
        if self.cache_file is None or self._seen == self._known:
            return
        data = msgspec.msgpack.encode(_CacheFile(version=_CACHE_VERSION, files=self._seen))
        with contextlib.suppress(WindlassError):
            make_private_folder(self.cache_file.parent)
            save_file(self.cache_file, hashlib.sha256(data).digest() + data, is_durable=False)


def load_verified(file: str, *, sha256: str, size: int) -> bytes | None:
    """The content, or None when it is no longer the one with this hash. OSError."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as opened:
        content = opened.read(size + 1)
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def _read_once(file: str, *, follow: bool) -> tuple[Hashed, _Mark | None, bytes | None]:
    """Without a mark when the file changed while it was read."""
    # Not blocking, and no link followed: between the look and the read it may have become a pipe or a link.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    handle = os.open(file, flags)
    try:
        before = _make_mark(os.fstat(handle))
        digest = hashlib.sha256()
        first = os.read(handle, _CHUNK)
        size, chunk = 0, first
        while chunk:
            digest.update(chunk)
            size += len(chunk)
            chunk = os.read(handle, _CHUNK)
        after = _make_mark(os.fstat(handle))
    finally:
        os.close(handle)
    key = holds_private_key(first[:HEAD_BYTES])
    hashed = Hashed(sha256=digest.hexdigest(), size=size, holds_key=key)
    is_steady = before == after and size == after[0]
    return hashed, after if is_steady else None, first if size == len(first) else None


def _make_mark(status: os.stat_result) -> _Mark:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _load_cache(file: Path) -> dict[str, tuple[_Mark, bytes, bool]]:
    """A damaged cache is no cache."""
    try:
        data = file.read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            return {}
        cache = msgspec.msgpack.decode(data[32:], type=_CacheFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return cache.files if cache.version == _CACHE_VERSION else {}
