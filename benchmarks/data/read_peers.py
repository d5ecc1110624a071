"""Ways to read one of many files at random, each as people do it: opened once, then a function of numbers.

Each entry of PEERS gets a folder of 10,000 JPEGs packed by us, makes its own form of it beside, and returns a function
that reads the samples of these numbers and keeps none.
"""

import io
import os
import struct
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from windlass.app.data.converting import convert
from windlass_job.shards.folder import Folder

Read = Callable[[Iterable[int]], object]


def make(packed: Path, kind: str) -> Path:
    """The data set in another format, made once."""
    target = packed.with_name(kind)
    if not target.exists():
        convert(packed, target, to=kind)
    return target


def list_contents(packed: Path) -> Iterable[tuple[bytes, bytes]]:
    with Folder(bytes(packed)) as folder:
        for entry in folder.iterate():
            yield entry.name, folder.read(entry)


def read_by(get: Callable[[int], object]) -> Read:
    def read(numbers: Iterable[int]) -> None:
        for number in numbers:
            get(number)

    return read


def open_lmdb(packed: Path) -> Read:
    import lmdb

    path = make(packed, "lmdb")
    environment = lmdb.open(str(path), readonly=True, lock=False, readahead=False, subdir=path.is_dir())
    transaction = environment.begin(buffers=False)
    keys = [key for key, value in transaction.cursor() if len(value) > 5000]
    return read_by(lambda number: transaction.get(keys[number]))


def open_hdf5(packed: Path) -> Read:
    import h5py
    import numpy

    path = packed.with_name("peer.h5")
    if not path.exists():
        contents = [content for _, content in list_contents(packed)]
        with h5py.File(path, "w") as file:
            made = file.create_dataset("images", (len(contents),), dtype=h5py.vlen_dtype(numpy.uint8))
            for number, content in enumerate(contents):
                made[number] = numpy.frombuffer(content, numpy.uint8)
    images = h5py.File(path, "r")["images"]
    return read_by(lambda number: images[number])


def open_tfrecord(packed: Path) -> Read:
    """With an index of its own: TFRecord has none."""
    files = sorted(
        one for one in make(packed, "tfrecord").rglob("*") if "tfrecord" in one.name and one.suffix != ".idx"
    )
    places = []
    for path in files:
        handle, at = os.open(path, os.O_RDONLY), 0
        while head := os.pread(handle, 8, at):
            (size,) = struct.unpack("<Q", head)
            places.append((handle, size, at + 12))
            at += size + 16
    return read_by(lambda number: os.pread(*places[number]))


def open_mds(packed: Path) -> Read:
    from streaming import StreamingDataset

    data = StreamingDataset(local=str(make(packed, "mds")), shuffle=False, batch_size=1)
    return read_by(lambda number: data[number])


def open_wids(packed: Path) -> Read:
    import wids

    shards = sorted(make(packed, "webdataset").rglob("*.tar"))
    about = [{"url": str(path), "nsamples": _count_samples(path)} for path in shards]
    data = wids.ShardListDataset(about, keep=True)
    data.transformations = []
    return read_by(lambda number: data[number])


def _count_samples(path: Path) -> int:
    listed = subprocess.run(["tar", "tf", path], capture_output=True, text=True, check=True).stdout.splitlines()
    return len({name.split(".")[0] for name in listed})


def open_webdataset(packed: Path) -> Read:
    """In its own order, through a shuffle buffer: it cannot be asked for a number."""
    import webdataset

    shards = [str(path) for path in sorted(make(packed, "webdataset").rglob("*.tar"))]
    data = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False).shuffle(1000)

    def read(numbers: Iterable[int]) -> None:
        for _, _ in zip(numbers, data, strict=False):
            pass

    return read


def open_litdata(packed: Path) -> Read:
    """By its iterator, shuffled by chunk: how it is meant to be used."""
    import litdata

    path = packed.with_name("litdata")
    if not path.exists():
        contents = [content for _, content in list_contents(packed)]
        writer = litdata.streaming.writer.BinaryWriter(str(path), chunk_bytes=64 << 20)
        for number, content in enumerate(contents):
            writer[number] = {"image": content}
        writer.done()
        writer.merge()
    data = litdata.StreamingDataset(str(path), shuffle=True)

    def read(numbers: Iterable[int]) -> None:
        for _, _ in zip(numbers, data, strict=False):
            pass

    return read


def open_parquet(packed: Path) -> Read:
    import pyarrow
    import pyarrow.parquet

    path = packed.with_name("peer.parquet")
    if not path.exists():
        table = pyarrow.table({"image": [content for _, content in list_contents(packed)]})
        pyarrow.parquet.write_table(table, path, compression="none", row_group_size=16)
    file = pyarrow.parquet.ParquetFile(path, memory_map=True)
    return read_by(lambda number: file.read_row_group(number // 16)["image"][number % 16].as_py())


def open_lance(packed: Path) -> Read:
    import lance
    import pyarrow

    path = packed.with_name("peer.lance")
    if not path.exists():
        contents = [content for _, content in list_contents(packed)]
        lance.write_dataset(pyarrow.table({"image": pyarrow.array(contents, pyarrow.large_binary())}), str(path))
    data = lance.dataset(str(path))
    return read_by(lambda number: data.take([number])["image"][0].as_py())


def open_zip(packed: Path) -> Read:
    import zipfile

    path = make(packed, "zip")
    archive = zipfile.ZipFile(path)
    names = [one for one in archive.namelist() if not one.endswith(("/", ".json"))]
    return read_by(lambda number: archive.read(names[number]))


def open_squashfs(packed: Path) -> Read:
    """Mounted by squashfuse, as on nodes where nobody is root."""
    image, mount = make(packed, "squashfs"), packed.with_name("mounted")
    mount.mkdir(exist_ok=True)
    subprocess.run(["squashfuse", str(image), str(mount)], check=True)
    names = [str(path) for path in sorted(mount.rglob("*")) if path.is_file() and path.suffix == ".jpg"]
    return read_by(lambda number: read_file(names[number]))


def close_squashfs(packed: Path) -> None:
    mount = packed.with_name("mounted")
    if mount.is_dir():
        subprocess.run(["umount", str(mount)], check=False, capture_output=True)


def read_file(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    content = os.read(handle, 1 << 20)
    os.close(handle)
    return content


def open_raw_files(packed: Path) -> Read:
    """What most code does."""
    folder = packed.with_name("files")
    if not folder.exists():
        for name, content in list_contents(packed):
            path = folder / os.fsdecode(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    names = [str(path) for path in sorted(folder.rglob("*.jpg"))]

    def get(number: int) -> Any:
        with io.open(names[number], "rb") as file:  # noqa: UP020
            return file.read()

    return read_by(get)


PEERS: dict[str, Callable[[Path], Read]] = {
    "raw folder, open().read()": open_raw_files,
    "LMDB": open_lmdb,
    "TFRecord with an index of its own": open_tfrecord,
    "HDF5": open_hdf5,
    "MDS by index": open_mds,
    "LitData's iterator": open_litdata,
    "webdataset's iterator": open_webdataset,
    "wids": open_wids,
    "zip (zipfile)": open_zip,
    "Parquet": open_parquet,
    "Lance": open_lance,
    "squashfs by squashfuse": open_squashfs,
}
