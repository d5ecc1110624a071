"""HDF5: all files one after another in a single array of bytes, and where each begins.

One array, because a random read from it costs a quarter of one from an array of byte strings of varying length; and
contiguous where the size is known beforehand, because chunks are read whole.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windlass.errors import ConvertError
from windlass.formats.form import Format, Sample, Source, as_name, as_text, check_name, name_by_content, show_name

LAYOUT = "windlass-hdf5/1"
_NO_CLASS = -1
_WRITE_BYTES = 8 << 20
_WRITE_FILES = 4096
_CHUNK = 256 << 10
_RESERVE = 16 << 20
# As others call them, in the order in which they are looked for.
_CONTENTS = ("images", "image", "data", "bytes", "content", "x", "X")
_NAMES = ("names", "name", "filenames", "file_names", "keys")
_LABELS = ("labels", "label", "targets", "target", "y", "Y")


def save(path: Path, source: Source, _: int) -> None:
    import h5py

    with _reserve(path.with_name(path.name + ".reserve")) as give_back, h5py.File(path, "w") as file:
        try:
            file.attrs["layout"] = LAYOUT
            writer = _Writer(file, source)
            for sample in source.samples:
                writer.add(sample)
            writer.finish()
            file.flush()
        except BaseException:  # Ctrl-C too
            give_back()
            raise


@contextmanager
def _reserve(path: Path) -> Iterator[Callable[[], None]]:
    """Some room on the disk: HDF5 crashes when it cannot write what it still holds at its end."""
    try:
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, _RESERVE)
        yield lambda: path.unlink(missing_ok=True)
    finally:
        path.unlink(missing_ok=True)


class _Writer:
    """Collects some megabytes before it writes: each call of HDF5's costs as much as a small file."""

    def __init__(self, file: Any, source: Source) -> None:
        import h5py

        self._file = file
        self._source = source
        if source.total_bytes:
            self._bytes = file.create_dataset("bytes", (source.total_bytes,), "u1")
        else:
            self._bytes = file.create_dataset("bytes", (0,), "u1", maxshape=(None,), chunks=(_CHUNK,))
        text = h5py.string_dtype("utf-8")
        kinds = (("sizes", "u8"), ("crcs", "u4"), ("labels", "i8"), ("names", text), ("columns", text))
        self._lists = {
            name: file.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(_WRITE_FILES,))
            for name, kind in kinds
        }
        self._waiting: dict[str, list[Any]] = {name: [] for name, _ in kinds}
        self._buffer = bytearray()
        self._at = 0
        self._has_columns = False

    def add(self, sample: Sample) -> None:
        self._buffer += sample.content
        waiting = self._waiting
        waiting["sizes"].append(len(sample.content))
        waiting["crcs"].append(zlib.crc32(sample.content))
        waiting["labels"].append(_NO_CLASS if sample.label is None else sample.label)
        waiting["names"].append(sample.name)
        waiting["columns"].append(json.dumps(dict(sample.columns), sort_keys=True).encode() if sample.columns else b"")
        self._has_columns = self._has_columns or bool(sample.columns)
        if len(self._buffer) >= _WRITE_BYTES or len(waiting["sizes"]) >= _WRITE_FILES:
            self._flush()

    def _flush(self) -> None:
        import numpy

        end = self._at + len(self._buffer)
        if end > self._bytes.shape[0]:
            if self._bytes.chunks is None:
                raise ConvertError("the source holds more bytes than it said")
            self._bytes.resize((end,))
        if self._buffer:
            self._bytes[self._at : end] = numpy.frombuffer(self._buffer, "u1")
        self._at = end
        for name, values in self._waiting.items():
            dataset = self._lists[name]
            count = dataset.shape[0]
            dataset.resize((count + len(values),))
            dataset[count:] = values
            values.clear()
        self._buffer = bytearray()

    def finish(self) -> None:
        import h5py
        import numpy

        if self._waiting["sizes"]:
            self._flush()
        sizes = self._lists["sizes"][:]
        offsets = numpy.zeros(len(sizes) + 1, "u8")
        numpy.cumsum(sizes, out=offsets[1:])
        self._file.create_dataset("offsets", data=offsets)
        del self._file["sizes"]
        if not self._has_columns:
            del self._file["columns"]
        names = [as_name(one) for one in self._source.classes]
        self._file.create_dataset("classes", data=names, dtype=h5py.string_dtype("utf-8"))


def load(path: Path, _: Path) -> Source:
    import h5py

    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise ConvertError(f"{path} cannot be read as HDF5: {error}") from error
    source = Source(samples=())
    try:
        if file.attrs.get("layout") == LAYOUT:
            _open_ours(file, source, path)
        else:
            _open_foreign(file, source, path)
    except KeyError as error:
        raise ConvertError(f"{path} lacks what its layout promises: {error}") from error
    return source


def _open_ours(file: Any, source: Source, path: Path) -> None:
    source.classes = [as_text(one) for one in file["classes"][:]]
    offsets = file["offsets"][:]
    source.files, source.total_bytes = len(offsets) - 1, int(offsets[-1])
    if source.total_bytes > file["bytes"].shape[0]:
        raise ConvertError(f"{path} is cut off: {source.total_bytes:,} bytes are promised")
    source.samples = _iterate_ours(file, offsets, source, path)


def _iterate_ours(file: Any, offsets: Any, source: Source, path: Path) -> Iterator[Sample]:
    with file:
        first, count = 0, len(offsets) - 1
        while first < count:
            last = first + 1
            while last < count and last - first < _WRITE_FILES and offsets[last] - offsets[first] < _WRITE_BYTES:
                last += 1
            try:
                yield from _read_block(file, offsets[first : last + 1], slice(first, last), source)
            except (OSError, ValueError) as error:
                raise ConvertError(f"{path} is damaged near its file {first}: {error}") from error
            first = last


def _read_block(file: Any, offsets: Any, block: slice, source: Source) -> Iterator[Sample]:
    """Some megabytes at once, as they were written."""
    start = int(offsets[0])
    contents = file["bytes"][start : int(offsets[-1])].tobytes()
    names, labels, crcs = (file[one][block] for one in ("names", "labels", "crcs"))
    columns = file["columns"][block] if "columns" in file else [b""] * len(names)
    for at, (name, label, crc, text) in enumerate(zip(names, labels, crcs, columns, strict=True)):
        content = contents[int(offsets[at]) - start : int(offsets[at + 1]) - start]
        if zlib.crc32(content) != crc:
            raise ValueError(f"{show_name(bytes(name))} does not fit its checksum")
        kept = dict(json.loads(text)) if text else {}
        yield Sample(check_name(bytes(name), source.notices), content, None if label < 0 else int(label), kept)


def _open_foreign(file: Any, source: Source, path: Path) -> None:
    contents = _find(file, _CONTENTS, _holds_files)
    if contents is None:
        raise ConvertError(
            f"{path} holds no list of files: no array of byte strings, one for each",
            details=(f"it holds: {', '.join(sorted(file)) or 'nothing'}",),
            hint="arrays of numbers are no files: read them with h5py, and save what a training reads as one sample",
        )
    source.files = contents.shape[0]
    names = _find(file, _NAMES, lambda one: len(one.shape) == 1 and one.shape[0] == contents.shape[0])
    labels = _find(file, _LABELS, lambda one: one.shape[:1] == contents.shape[:1] and one.dtype.kind in "iu")
    source.samples = _iterate_foreign(file, contents, names, labels, source)


def _iterate_foreign(file: Any, contents: Any, names: Any, labels: Any, source: Source) -> Iterator[Sample]:
    with file:
        for number in range(contents.shape[0]):
            found = contents[number]
            content = found if isinstance(found, bytes) else bytes(found)
            name = bytes(names[number]) if names is not None else name_by_content(number, content)
            columns: dict[str, Any] = {}
            label = None
            if labels is not None and labels[number].size == 1:
                label = source.take_label(int(labels[number].item()), columns)
            yield Sample(check_name(name, source.notices), content, label, columns)


def _find(file: Any, names: tuple[str, ...], fits: Any) -> Any:
    import h5py

    known = [name for name in names if name in file]
    for name in [*known, *(one for one in file if one not in known and names is _CONTENTS)]:
        if isinstance(file[name], h5py.Dataset) and fits(file[name]):
            return file[name]
    return None


def _holds_files(dataset: Any) -> bool:
    import h5py

    if len(dataset.shape) != 1:
        return False
    base = h5py.check_vlen_dtype(dataset.dtype)
    return base == "u1" or dataset.dtype.kind == "S" or h5py.check_string_dtype(dataset.dtype) is not None


def looks_like(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(8) == b"\x89HDF\r\n\x1a\n"


HDF5 = Format(
    name="hdf5",
    summary="one HDF5 file: the bytes of all files in one array, with offsets, names and labels",
    is_folder=False,
    looks_like=looks_like,
    load=load,
    save=save,
    library="h5py",
    extra="hdf5",
)
