"""TFRecord: records of tf.train.Example with checksums, in the layout that DALI and TensorFlow's ImageNet use.

Beside each file lies the index that DALI's reader asks for, as its tfrecord2idx writes it: a line for each record with
where it begins and how many bytes it takes.
"""

import base64
import gzip
import json
import struct
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from windlass.errors import ConvertError
from windlass.formats import crc32c
from windlass.formats.class_list import load_classes, save_classes
from windlass.formats.example import Values, make_example, read_example
from windlass.formats.form import Format, Sample, Source, as_bytes, cut_shards, name_by_content
from windlass.formats.repeats import tell_apart
from windlass_job.shards.naming import make_stored_name

SUFFIX, INDEX_SUFFIX = ".tfrecord", ".idx"
CONTENT, FILE_NAME, LABEL, CLASS = "image/encoded", "image/filename", "image/class/label", "image/class/text"
COLUMNS = "windlass/columns"
# As others call them, in the order in which they are looked for.
_CONTENTS = (CONTENT, "image", "image_raw", "encoded", "jpeg", "content", "data", "bytes")
_NAMES = (FILE_NAME, "filename", "file_name", "name", "key", "__key__")
_LABELS = (LABEL, "label", "cls", "class")
_HEAD = struct.Struct("<QI")
_TAIL = struct.Struct("<I")
_GZIP = b"\x1f\x8b"
_LONG_BYTES = 50_000_000  # some ten seconds without a library


def save(path: Path, source: Source, shard_bytes: int) -> None:
    compute, is_fast = crc32c.choose()
    for number, samples in enumerate(cut_shards(source.samples, shard_bytes)):
        stem = f"shard-{number:05}"
        with (path / (stem + SUFFIX)).open("wb") as file, (path / (stem + INDEX_SUFFIX)).open("wb") as index:
            at = 0
            for sample in samples:
                record = make_example(_make_features(sample, source))
                head = struct.pack("<Q", len(record))
                file.write(_HEAD.pack(len(record), crc32c.mask(compute(head))))
                file.write(record)
                file.write(_TAIL.pack(crc32c.mask(compute(record))))
                size = _HEAD.size + len(record) + _TAIL.size
                index.write(b"%d %d\n" % (at, size))
                at += size
    save_classes(path, source.classes)
    if not is_fast and sum(one.stat().st_size for one in path.iterdir()) > _LONG_BYTES:
        source.notices.tell("checksums were computed slowly: the library google-crc32c makes them fast")


def _make_features(sample: Sample, source: Source) -> dict[str, Values]:
    features: dict[str, Values] = {CONTENT: [sample.content], FILE_NAME: [sample.name]}
    name = source.get_class(sample)
    if sample.label is not None and name is not None:
        features[LABEL] = [sample.label]
        features[CLASS] = [as_bytes(name)]
    if sample.columns:
        # The whole as JSON, because an Example has no float of 64 bits, no truth values and no nesting.
        features[COLUMNS] = [json.dumps(dict(sample.columns), sort_keys=True).encode()]
        features.update({f"column/{key}": [_as_value(value)] for key, value in sample.columns.items() if _fits(value)})  # type: ignore[misc]
    return features


def _fits(value: Any) -> bool:
    return isinstance(value, str | float) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63)


def _as_value(value: str | int | float) -> bytes | int | float:
    return as_bytes(value) if isinstance(value, str) else value


def load(path: Path, _: Path) -> Source:
    folder = path if path.is_dir() else path.parent
    source = Source(samples=(), classes=load_classes(folder))
    source.samples = tell_apart(_iterate(_list_files(path), source), source.notices)
    return source


def _iterate(files: list[Path], source: Source) -> Iterator[Sample]:
    number = 0
    for file in files:
        for record in iterate_records(file):
            try:
                features = read_example(record)
            except ValueError as error:
                raise ConvertError(f"{file}, record {number}: {error}") from error
            try:
                yield _make_sample(features, number, source)
            except _BadColumns as error:
                raise ConvertError(f"{file}, record {number}: {error}") from error
            number += 1


class _BadColumns(ValueError):
    """What should be our columns is something else."""


def iterate_records(path: Path) -> Iterator[bytes]:
    """Each record whose two checksums hold; ConvertError says where one does not."""
    with _open(path) as file:
        records = _iterate_file(file, path)
        while True:
            try:
                record = next(records, None)
            except EOFError as error:
                raise ConvertError(f"{path} is cut off: its gzip stream has no end") from error
            except (gzip.BadGzipFile, zlib.error) as error:
                raise ConvertError(f"{path} is damaged: {error}") from error
            if record is None:
                return
            yield record


def _iterate_file(file: "BufferedReader | gzip.GzipFile", path: Path) -> Iterator[bytes]:
    compute, _ = crc32c.choose()
    at = 0
    while head := file.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise ConvertError(f"{path} is cut off at byte {at}")
        size, size_crc = _HEAD.unpack(head)
        if crc32c.mask(compute(head[:8])) != size_crc:
            raise ConvertError(f"{path} is damaged at byte {at}: the length of a record does not fit its checksum")
        record = file.read(size)
        tail = file.read(_TAIL.size)
        if len(record) < size or len(tail) < _TAIL.size:
            raise ConvertError(f"{path} is cut off in the record that begins at byte {at}")
        if (crc32c.mask(compute(record)),) != _TAIL.unpack(tail):
            raise ConvertError(f"{path} is damaged: the record that begins at byte {at} does not fit its checksum")
        yield record
        at += _HEAD.size + size + _TAIL.size


def _open(path: Path) -> "BufferedReader | gzip.GzipFile":
    with path.open("rb") as file:
        is_gzip = file.read(2) == _GZIP
    return gzip.open(path, "rb") if is_gzip else path.open("rb")


def _make_sample(features: dict[str, Values], number: int, source: Source) -> Sample:
    content_key = next((key for key in _CONTENTS if _is_bytes(features.get(key))), None) or _find_longest(features)
    if content_key is None:
        raise ConvertError(
            f"record {number} holds no bytes that could be a file's",
            details=(f"its features: {', '.join(sorted(features)) or 'none'}",),
        )
    content = _first_bytes(features.pop(content_key))
    name_key = next((key for key in _NAMES if _is_bytes(features.get(key))), None)
    name = _first_bytes(features.pop(name_key)) if name_key else b""
    label_key = next((key for key in _LABELS if _is_number(features.get(key))), None)
    label = int(features.pop(label_key)[0]) if label_key else None
    text = features.pop(CLASS, None)
    columns = _take_columns(features, source)
    if label is not None:
        label = source.take_label(label, columns)
        if label is not None and text and source.classes[label] == str(label):
            source.classes[label] = _first_bytes(text).decode("utf-8", "surrogateescape")
    # In an Example the name is only told: one that cannot be is no danger, and no reason to stop.
    final = make_stored_name(name.lstrip(b"/")) or name_by_content(number, content)
    return Sample(final, content, label, columns)


def _find_longest(features: dict[str, Values]) -> str | None:
    sizes = {key: len(_first_bytes(value)) for key, value in features.items() if _is_bytes(value)}
    return max(sizes, key=lambda key: sizes[key]) if sizes else None


def _take_columns(features: dict[str, Values], source: Source) -> dict[str, Any]:
    text = features.pop(COLUMNS, None)
    if text:  # ours: the single features only repeat them
        try:
            found = json.loads(_first_bytes(text))
        except (ValueError, RecursionError) as error:
            raise _BadColumns(f"its feature {COLUMNS} is no JSON") from error
        if not isinstance(found, dict):
            raise _BadColumns(f"its feature {COLUMNS} is no JSON object")
        return found
    columns = {}
    for key, values in features.items():
        found = [_as_column(one, source) for one in values]
        columns[key] = found[0] if len(found) == 1 else found
    return columns


def _as_column(value: bytes | int | float, source: Source) -> str | int | float:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        source.notices.tell("a column that is no text is kept as base64")
        return base64.b64encode(value).decode()


def _is_bytes(values: Values | None) -> bool:
    return bool(values) and isinstance(values[0], bytes)  # type: ignore[index]


def _is_number(values: Values | None) -> bool:
    return values is not None and len(values) == 1 and isinstance(values[0], int)


def _first_bytes(values: Values) -> bytes:
    first = values[0]
    return first if isinstance(first, bytes) else b""


def looks_like(path: Path) -> bool:
    """By the checksum of the first record's length: nothing else has it by chance."""
    try:
        files = _list_files(path)[:3]
        return bool(files) and all(_begins_as_one(file) for file in files)
    except (OSError, EOFError, zlib.error):
        return False


def _begins_as_one(path: Path) -> bool:
    with _open(path) as file:
        head = file.read(_HEAD.size)
    return len(head) == _HEAD.size and crc32c.mask(crc32c.compute(head[:8])) == _HEAD.unpack(head)[1]


def _list_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(one for one in path.iterdir() if one.is_file() and not one.name.endswith(INDEX_SUFFIX))
    # TensorFlow's own sets have names without a suffix: train-00000-of-01024
    return [one for one in files if SUFFIX in one.name] or [one for one in files if "-of-" in one.name]


TFRECORD = Format(
    name="tfrecord",
    summary="TFRecord of tf.train.Example in DALI's layout, with DALI's index beside each file",
    is_folder=True,
    looks_like=looks_like,
    load=load,
    save=save,
    extra="tfrecord",
    shard_bytes=256 << 20,
)
