"""LMDB: the files under their numbers, `00000017`, and what is known of each under `meta/00000017`.

Under numbers and not under names, because a training asks by number, LMDB sorts by key and would lose the order, and
it holds no key of more than 511 bytes.
"""

import errno
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from windlass.errors import ConvertError
from windlass.formats.form import Format, Sample, Source, as_name, as_text, check_name, name_by_content, show_name

LAYOUT = b"windlass-lmdb/1"
_LAYOUT_KEY, _COUNT_KEY, _CLASSES_KEY = b"__layout__", b"__len__", b"__classes__"
_BATCH_BYTES = 16 << 20
_FIRST_MAP = 1 << 30
_DIGITS = 8


def make_key(number: int) -> bytes:
    return b"%0*d" % (_DIGITS, number)


def make_meta_key(number: int) -> bytes:
    return b"meta/" + make_key(number)


def save(path: Path, source: Source, _: int) -> None:
    import lmdb

    size = _FIRST_MAP + (source.total_bytes or 0) * 5 // 4
    # Flushed once at the end by the caller; nobody reads it before.
    with lmdb.open(str(path), map_size=size, sync=False, metasync=False, lock=False) as environment:
        count = 0
        for batch in _cut(source):
            _put(environment, [(make_key(count + at), one.content) for at, one in enumerate(batch)])
            _put(environment, [(make_meta_key(count + at), _make_meta(one)) for at, one in enumerate(batch)])
            count += len(batch)
        classes = json.dumps(source.classes).encode()
        _put(environment, [(_LAYOUT_KEY, LAYOUT), (_COUNT_KEY, b"%d" % count), (_CLASSES_KEY, classes)])


def _cut(source: Source) -> Iterator[list[Sample]]:
    batch: list[Sample] = []
    size = 0
    for sample in source.samples:
        batch.append(sample)
        size += len(sample.content) + 100
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _put(environment: Any, pairs: list[tuple[bytes, bytes]]) -> None:
    """All of them, in a map that grows when it is full."""
    import lmdb

    while True:
        try:
            with environment.begin(write=True) as transaction, transaction.cursor() as cursor:
                cursor.putmulti(pairs)
            return
        except lmdb.MapFullError:
            environment.set_mapsize(environment.info()["map_size"] * 2)
        except lmdb.Error as error:
            raise _explain(error, environment.path()) from error


def _explain(error: Exception, path: str) -> Exception:
    """LMDB calls a full disk an input/output error."""
    free = os.statvfs(path)
    if free.f_bavail * free.f_frsize < _BATCH_BYTES:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    return ConvertError(f"LMDB could not write: {error}")


def _make_meta(sample: Sample) -> bytes:
    about: dict[str, Any] = {"name": as_text(sample.name), "crc": zlib.crc32(sample.content)}
    if sample.label is not None:
        about["label"] = sample.label
    if sample.columns:
        about["columns"] = dict(sample.columns)
    return json.dumps(about, sort_keys=True, separators=(",", ":")).encode()


def load(path: Path, _: Path) -> Source:
    import lmdb

    try:
        environment = lmdb.open(
            str(path), subdir=path.is_dir(), readonly=True, lock=False, readahead=True, create=False, max_readers=1
        )
    except lmdb.Error as error:
        raise ConvertError(f"{path} cannot be read as LMDB: {error}") from error
    _check_size(environment, path)
    source = Source(samples=())
    with environment.begin() as transaction:
        is_ours = transaction.get(_LAYOUT_KEY) == LAYOUT
        if is_ours:
            source.files = int(transaction.get(_COUNT_KEY))
            source.classes = json.loads(transaction.get(_CLASSES_KEY))
    iterate = _iterate_ours if is_ours else _iterate_foreign
    source.samples = iterate(environment, source, path)
    return source


def _check_size(environment: Any, path: Path) -> None:
    """LMDB maps its file: to look at a page that was cut off kills the process."""
    wanted = (environment.info()["last_pgno"] + 1) * environment.stat()["psize"]
    file = path / "data.mdb" if path.is_dir() else path
    if file.stat().st_size < wanted:
        environment.close()
        raise ConvertError(f"{file} is cut off: it has {file.stat().st_size:,} bytes of {wanted:,}")


def _iterate_ours(environment: Any, source: Source, path: Path) -> Iterator[Sample]:
    import lmdb

    with environment, environment.begin() as transaction:
        for number in range(source.files or 0):
            try:
                content, meta = transaction.get(make_key(number)), transaction.get(make_meta_key(number))
                about = json.loads(meta)
                name = check_name(as_name(about["name"]), source.notices)
                if content is None or zlib.crc32(content) != about["crc"]:
                    raise ConvertError(f"{show_name(name)} in {path} does not fit its checksum")
            except (lmdb.Error, TypeError, KeyError, ValueError) as error:
                raise ConvertError(f"file {number} of {path} cannot be read: {error}") from error
            yield Sample(name, content, about.get("label"), about.get("columns", {}))


def _iterate_foreign(environment: Any, source: Source, path: Path) -> Iterator[Sample]:
    """Every value is a file, named by its key; keys in underscores are notes that programs leave for themselves."""
    import lmdb

    with environment, environment.begin() as transaction, transaction.cursor() as cursor:
        try:
            for number, (key, content) in enumerate(cursor):
                if key.startswith(b"__") and key.endswith(b"__"):
                    source.notices.tell(f"the entry {show_name(key)} was left out")
                elif b"\0" in key:  # a number in binary
                    source.notices.tell("a key that is no text was replaced by its number")
                    yield Sample(name_by_content(number, content), content)
                else:
                    yield Sample(check_name(key, source.notices), content)
        except lmdb.Error as error:
            raise ConvertError(f"{path} is damaged: {error}") from error


def looks_like(path: Path) -> bool:
    file = path / "data.mdb" if path.is_dir() else path
    try:
        with file.open("rb") as opened:
            head = opened.read(24)
    except OSError:
        return False
    return head[16:20] in (b"\xde\xc0\xef\xbe", b"\xbe\xef\xc0\xde")


LMDB = Format(
    name="lmdb",
    summary="one LMDB environment: files under their numbers, name and class under meta/NUMBER",
    is_folder=True,
    looks_like=looks_like,
    load=load,
    save=save,
    library="lmdb",
    extra="lmdb",
)
