"""MDS, the format of MosaicML Streaming: shards of samples with typed columns, and index.json about them all.

By hand, because the library brings a hundred packages with it (five clouds among them) and the format is simple: in
each shard the number of samples, where each begins, the columns in JSON, then the samples; in each sample the sizes of
its columns without a fixed one, then their bytes. Numbers are little-endian and have 32 bits.
"""

import hashlib
import itertools
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from windlass.errors import ConvertError
from windlass.formats.class_list import load_classes, save_classes
from windlass.formats.form import Format, Sample, Source, as_name, check_name, cut_shards, name_by_content
from windlass.formats.repeats import tell_apart

INDEX = "index.json"
_COLUMNS = (("columns", "json"), ("content", "bytes"), ("label", "int"), ("name", "bytes"))  # sorted, as it must be
_SIZES = {"int": 8}
_LARGEST = 0xFFFFFFFF
_NO_CLASS = -1
_CONTENTS = ("content", "image", "jpg", "jpeg", "png", "x", "data", "bytes", "text")
_NAMES = ("name", "filename", "file_name", "key", "__key__")
_LABELS = ("label", "class", "cls", "y", "target")
_NUMBERS = {
    "int": "<q",
    "int8": "<b",
    "int16": "<h",
    "int32": "<i",
    "int64": "<q",
    "uint8": "<B",
    "uint16": "<H",
    "uint32": "<I",
    "uint64": "<Q",
    "float16": "<e",
    "float32": "<f",
    "float64": "<d",
}
_AS_THEY_ARE = ("bytes", "jpeg", "png")


def save(path: Path, source: Source, shard_bytes: int) -> None:
    shards = [
        _save_shard(path / f"shard.{number:05}.mds", [_make_sample(one) for one in samples], shard_bytes)
        for number, samples in enumerate(cut_shards(source.samples, shard_bytes))
    ]
    (path / INDEX).write_text(json.dumps({"shards": shards, "version": 2}, sort_keys=True), encoding="utf-8")
    save_classes(path, source.classes)


def _make_sample(sample: Sample) -> bytes:
    columns = json.dumps(dict(sample.columns), sort_keys=True).encode()
    label = _NO_CLASS if sample.label is None else sample.label
    head = struct.pack("<III", len(columns), len(sample.content), len(sample.name))
    return b"".join((head, columns, sample.content, struct.pack("<q", label), sample.name))


def _save_shard(path: Path, samples: list[bytes], shard_bytes: int) -> dict[str, Any]:
    about: dict[str, Any] = {
        "column_encodings": [kind for _, kind in _COLUMNS],
        "column_names": [name for name, _ in _COLUMNS],
        "column_sizes": [_SIZES.get(kind) for _, kind in _COLUMNS],
        "compression": None,
        "format": "mds",
        "hashes": ["sha1"],
        "size_limit": shard_bytes,
        "version": 2,
    }
    config = json.dumps(about, sort_keys=True).encode()
    ends = [4 + 4 * (len(samples) + 1) + len(config)]
    for sample in samples:
        ends.append(ends[-1] + len(sample))
    if ends[-1] > _LARGEST:
        raise ConvertError(f"a shard of MDS holds 4 GiB at most, and {path.name} would have {ends[-1]:,} bytes")
    hashed = hashlib.sha1(usedforsecurity=False)
    with path.open("wb") as file:
        for piece in (struct.pack(f"<{len(ends) + 1}I", len(samples), *ends), config, *samples):
            file.write(piece)
            hashed.update(piece)
    raw = {"basename": path.name, "bytes": ends[-1], "hashes": {"sha1": hashed.hexdigest()}}
    return {**about, "raw_data": raw, "samples": len(samples), "zip_data": None}


def load(path: Path, _: Path) -> Source:
    index = path / INDEX
    try:
        shards = json.loads(index.read_text(encoding="utf-8"))["shards"]
        files = sum(int(one["samples"]) for one in shards)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise ConvertError(f"{index} cannot be read: {error!r}") from error
    source = Source(samples=(), files=files, classes=load_classes(path))
    source.samples = tell_apart(_iterate(path, shards, source), source.notices)
    return source


def _iterate(path: Path, shards: list[dict[str, Any]], source: Source) -> Iterator[Sample]:
    number = 0
    for shard in shards:
        for found in _iterate_shard(path, shard):
            yield _read_sample(found, number, source)
            number += 1


def _iterate_shard(folder: Path, shard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The samples as their columns. One shard is in memory at a time, which is how their library reads them too."""
    try:
        name, samples = as_name(shard["raw_data"]["basename"]), int(shard["samples"])
        columns = list(zip(shard["column_names"], shard["column_encodings"], shard["column_sizes"], strict=True))
        wanted = shard["raw_data"].get("hashes", {}).get("sha1")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConvertError(f"{folder / INDEX} describes a shard in no known way: {error!r}") from error
    file = folder / check_name(name, Source(samples=()).notices).decode("utf-8", "surrogateescape")
    if not file.exists() and shard.get("zip_data"):
        raise ConvertError(f"{file} is there only compressed", hint="decompress it with the streaming library first")
    content = file.read_bytes()
    if wanted and hashlib.sha1(content, usedforsecurity=False).hexdigest() != wanted:
        raise ConvertError(f"{file} is damaged: its SHA-1 is not the one in {INDEX}")
    try:
        ends = struct.unpack_from(f"<{samples + 1}I", content, 4)
        for first, after in itertools.pairwise(ends):
            if not first <= after <= len(content):
                raise ValueError("it is cut off")
            yield dict(_split(content[first:after], columns))
    except (struct.error, ValueError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise ConvertError(f"{file} is damaged: {error}") from error


def _split(sample: bytes, columns: list[tuple[str, str, int | None]]) -> Iterator[tuple[str, Any]]:
    loose = sum(1 for _, _, size in columns if not size)
    sizes = iter(struct.unpack_from(f"<{loose}I", sample, 0))
    at = 4 * loose
    for name, kind, fixed in columns:
        size = fixed or next(sizes)
        yield name, _decode(kind, sample[at : at + size])
        at += size


def _decode(kind: str, content: bytes) -> Any:
    if kind in _NUMBERS:
        return struct.unpack(_NUMBERS[kind], content)[0]
    if kind == "json":
        return json.loads(content)
    if kind in ("str", "str_int", "str_float", "str_decimal"):
        text = content.decode()
        return int(text) if kind == "str_int" else float(text) if kind == "str_float" else text
    if kind in _AS_THEY_ARE:
        return content
    raise ConvertError(
        f"a column of MDS is of the kind {kind!r}, which is no file and no plain value",
        hint="kinds that can be converted: bytes, jpeg, png, str, json and numbers",
    )


def _read_sample(found: dict[str, Any], number: int, source: Source) -> Sample:
    key = next((one for one in _CONTENTS if isinstance(found.get(one), bytes | str)), None)
    key = key or next((one for one, value in found.items() if isinstance(value, bytes)), None)
    if key is None:
        raise ConvertError(f"sample {number} has no column of bytes", details=(f"columns: {', '.join(found)}",))
    value = found.pop(key)
    content = value.encode() if isinstance(value, str) else value
    name_key = next((one for one in _NAMES if isinstance(found.get(one), bytes | str)), None)
    name = found.pop(name_key) if name_key else name_by_content(number, content)
    columns = found.pop("columns") if isinstance(found.get("columns"), dict) else {}
    label_key = next((one for one in _LABELS if isinstance(found.get(one), int)), None)
    label = source.take_label(found.pop(label_key), columns) if label_key else None
    for rest, other in found.items():
        columns[rest] = other if not isinstance(other, bytes) else other.decode("utf-8", "replace")
    return Sample(check_name(as_name(name) if isinstance(name, str) else name, source.notices), content, label, columns)


def looks_like(path: Path) -> bool:
    try:
        with (path / INDEX).open("rb") as file:
            return b'"mds"' in file.read(4096)
    except OSError:
        return False


MDS = Format(
    name="mds",
    summary="MDS of MosaicML Streaming: columns content, name, label and columns",
    is_folder=True,
    looks_like=looks_like,
    load=load,
    save=save,
    shard_bytes=64 << 20,
)
