"""Zip archives whose files are stored and not squeezed, so that a reader finds each where the directory says.

Written by hand because names are bytes and Python's zipfile writes only text. What a zip has no place for, class and
columns, is a comment of the file in the directory, as JSON.
"""

import json
import shutil
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from windlass.errors import ConvertError
from windlass.formats.folders import find_classes
from windlass.formats.form import Format, Sample, Source, check_name, show_name
from windlass.formats.repeats import tell_apart
from windlass.formats.zip_directory import Damaged, Directory, Entry

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<4sIQI")
_END = struct.Struct("<4sHHHHIIH")
_IS_UTF8 = 0x800
_NEEDS_64 = 45
_FULL = 0xFFFFFFFF
_LONGEST = 0xFFFF
_DATE = 1 << 5 | 1  # 1980-01-01: the archive depends on nothing but its files
_REGULAR = 0o100644 << 16
_IN_MEMORY = 16 << 20


def save(path: Path, source: Source, _: int) -> None:
    with path.open("wb") as file, tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(path.parent)) as directory:
        at = count = 0
        for sample in source.samples:
            size = _write_file(file, directory, sample, at, _make_comment(sample, source))
            at, count = at + size, count + 1
        _write_end(file, directory, at, count)


def _write_file(file: "IO[bytes]", directory: "IO[bytes]", sample: Sample, at: int, comment: bytes) -> int:
    name, size, crc = sample.name, len(sample.content), zlib.crc32(sample.content)
    if len(name) > _LONGEST:
        raise ConvertError(f"a zip holds names of {_LONGEST:,} bytes at most, and one here has {len(name):,}")
    flags = _IS_UTF8 if _is_utf8(name) else 0
    is_large = size >= _FULL
    extra = struct.pack("<HHQQ", 1, 16, size, size) if is_large else b""
    shown = _FULL if is_large else size
    head = _LOCAL.pack(
        b"PK\3\4", _NEEDS_64 if is_large else 20, flags, 0, 0, _DATE, crc, shown, shown, len(name), len(extra)
    )
    file.write(head + name + extra)
    file.write(sample.content)
    _write_entry(directory, name, comment, (size, crc, flags, at))
    return len(head) + len(name) + len(extra) + size


def _write_entry(directory: "IO[bytes]", name: bytes, comment: bytes, where: tuple[int, int, int, int]) -> None:
    size, crc, flags, at = where
    large = (size, size) if size >= _FULL else ()
    far = (at,) if at >= _FULL else ()
    wide = large + far
    extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    version = _NEEDS_64 if wide else 20
    shown = _FULL if large else size
    sizes = (len(name), len(extra), len(comment))
    made_by = 3 << 8 | version  # on Unix: its modes follow
    directory.write(
        _CENTRAL.pack(
            *(b"PK\1\2", made_by, version, flags, 0, 0, _DATE, crc, shown, shown),
            *(*sizes, 0, 0, _REGULAR, _FULL if far else at),
        )
        + name
        + extra
        + comment
    )


def _write_end(file: "IO[bytes]", directory: "IO[bytes]", at: int, count: int) -> None:
    size = directory.tell()
    directory.seek(0)
    shutil.copyfileobj(directory, file, 1 << 20)
    if count >= _LONGEST or at >= _FULL or size >= _FULL:
        file.write(_END64.pack(b"PK\6\6", _END64.size - 12, _NEEDS_64, _NEEDS_64, 0, 0, count, count, size, at))
        file.write(_LOCATOR64.pack(b"PK\6\7", 0, at + size, 1))
    few = min(count, _LONGEST)
    file.write(_END.pack(b"PK\5\6", 0, 0, few, few, min(size, _FULL), min(at, _FULL), 0))


def _make_comment(sample: Sample, source: Source) -> bytes:
    about: dict[str, Any] = {}
    if sample.label is not None:
        about = {"label": sample.label, "class": source.get_class(sample)}
    if sample.columns:
        about["columns"] = dict(sample.columns)
    text = json.dumps(about, sort_keys=True, separators=(",", ":")).encode() if about else b""
    if len(text) > _LONGEST:
        source.notices.tell("columns of more than 64 kB do not fit into a zip and were left out")
        return b""
    return text


def _is_utf8(name: bytes) -> bool:
    try:
        return not name.decode("utf-8").isascii()
    except UnicodeDecodeError:
        return False


def load(path: Path, _: Path) -> Source:
    try:
        directory = Directory(str(path))
        try:
            source, depth = _look_through(directory)
        except BaseException:  # Ctrl-C too
            directory.close()
            raise
    except Damaged as error:
        raise ConvertError(f"{path} is no whole zip archive: {error}") from error
    source.samples = tell_apart(_iterate(directory, source, depth, path), source.notices)
    return source


def _look_through(directory: Directory) -> tuple[Source, int | None]:
    """The directory is read twice and never held: sizes and classes first."""
    source = Source(samples=(), files=0, total_bytes=0)
    has_comments = False

    def iterate_names() -> Iterator[bytes]:
        nonlocal has_comments
        for entry in _iterate_files(directory, source):
            source.files = (source.files or 0) + 1
            source.total_bytes = (source.total_bytes or 0) + entry.size
            has_comments = has_comments or bool(entry.comment)
            yield entry.name

    classes, depth = find_classes(iterate_names())
    if has_comments:
        return source, None
    source.classes = classes
    source.tell_classes()
    return source, depth


def _iterate_files(directory: Directory, source: Source | None = None) -> Iterator[Entry]:
    """Without folders and links; what is left out is told to the source that is given."""
    for entry in directory.iterate():
        if stat.S_ISLNK(entry.mode):
            if source is not None:
                source.notices.tell("a symbolic link was left out")
        elif not entry.name.endswith(b"/"):
            yield entry


def _iterate(directory: Directory, source: Source, depth: int | None, path: Path) -> Iterator[Sample]:
    try:
        for entry in _iterate_files(directory):
            name = check_name(entry.name, source.notices)
            try:
                content = directory.read(entry)
            except Damaged as error:
                raise ConvertError(f"{show_name(name)} in {path} cannot be read: {error}") from error
            label, columns = _read_comment(entry.comment, source)
            yield Sample(name, content, label if depth is None else source.class_by_folder(name, depth), columns)
    finally:
        directory.close()


def _read_comment(comment: bytes, source: Source) -> tuple[int | None, dict[str, Any]]:
    """Comments of other programs say nothing here."""
    try:
        found = json.loads(comment) if comment.startswith(b"{") else {}
    except (ValueError, RecursionError):
        found = {}
    columns = found.get("columns") if isinstance(found.get("columns"), dict) else {}
    label = found.get("label")
    if not isinstance(label, int):
        return None, dict(columns or {})
    kept = dict(columns or {})
    number = source.take_label(label, kept)
    if number is not None and source.classes[number] == str(number):
        source.classes[number] = str(found.get("class", number))
    return number, kept


def looks_like(path: Path) -> bool:
    try:
        Directory(str(path)).close()
    except (Damaged, OSError):
        return False
    return True


ZIP = Format(
    name="zip",
    summary="one zip archive, files stored and not squeezed",
    is_folder=False,
    looks_like=looks_like,
    load=load,
    save=save,
)
