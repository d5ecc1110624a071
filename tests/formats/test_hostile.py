"""Damaged and hostile sources of `data convert`: words instead of fewer files or a traceback."""

import gzip
import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest

from windlass.app.data.converting import convert
from windlass.errors import ConvertError
from windlass.formats import crc32c
from windlass.formats.example import make_example
from windlass.formats.form import Notices, Sample
from windlass.formats.repeats import _Names, tell_apart
from windlass.formats.tfrecord import COLUMNS, CONTENT
from windlass_job.shards.extracting import extract
from windlass_job.shards.folder import Folder


def write_tar(path: Path, files: dict[str, bytes]) -> None:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def write_record(path: Path, features: dict[str, Any]) -> None:
    record = make_example(features)
    head = struct.pack("<Q", len(record))
    crcs = [struct.pack("<I", crc32c.mask(crc32c.compute(one))) for one in (head, record)]
    path.write_bytes(head + crcs[0] + record + crcs[1])


def read_names(folder: Path) -> list[bytes]:
    with Folder(bytes(folder)) as found:
        return [entry.name for entry in found.iterate()]


@pytest.mark.parametrize("damage", ["a header", "between members", "gzip"])
def test_a_webdataset_that_goes_on_behind_a_damage_is_not_taken_for_a_short_one(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "wds" / "shard-0.tar"
    write_tar(path, {f"{n}.jpg": b"%d" % n for n in range(10)})
    content = bytearray(path.read_bytes())
    if damage == "a header":
        content[4 * 1024 + 150] ^= 1
    elif damage == "between members":
        del content[4 * 1024 :]
    else:
        content = bytearray(gzip.compress(content, 0))
        content[700] ^= 1
    path.unlink()
    (tmp_path / "wds" / ("shard-0.tar.gz" if damage == "gzip" else "shard-0.tar")).write_bytes(content)

    with pytest.raises(ConvertError, match="is damaged or cut off"):
        convert(tmp_path / "wds", tmp_path / "out", to="windlass")
    assert not (tmp_path / "out").exists()


def test_samples_that_are_counted_anew_in_each_shard_are_all_kept(tmp_path: Path) -> None:
    for shard in range(2):
        files = {f"{n:05}.{suffix}": b"%d-%d" % (shard, n) for n in range(3) for suffix in ("jpg", "txt")}
        write_tar(tmp_path / "wds" / f"shard-{shard}.tar", files)

    done = convert(tmp_path / "wds", tmp_path / "set", to="windlass")
    written = extract(bytes(tmp_path / "set"), bytes(tmp_path / "plain"))

    assert done.files == written.files == 12
    assert "00001.jpg" in str(read_names(tmp_path / "set"))
    assert (tmp_path / "plain" / "00001.jpg").read_bytes() == b"0-1"
    assert (tmp_path / "plain" / "00001-2.jpg").read_bytes() == b"1-1"
    assert (tmp_path / "plain" / "00001-2.txt").read_bytes() == b"1-1"
    assert "a name came more than once" in done.notices[0]


def test_names_are_told_apart_however_many_there_are() -> None:
    names = [b"a/x.tar.gz", b"a/x.tar.gz", b"a/x-2.tar.gz", b"a/x.tar.gz", b".hidden", b".hidden"]
    found = [one.name for one in tell_apart([Sample(name, b"") for name in names], Notices())]
    assert found == [b"a/x.tar.gz", b"a/x-2.tar.gz", b"a/x-2-2.tar.gz", b"a/x-3.tar.gz", b".hidden", b".hidden-2"]

    seen = _Names()
    assert not any(seen.add(b"%d" % number) for number in range(450_000))
    assert all(seen.add(b"%d" % number) for number in range(0, 450_000, 1000))


@pytest.mark.parametrize(
    ("label", "named", "column"),
    [("²", "²", None), ("--5", "--5", None), ("9" * 5000, None, "9" * 5000), ("1", "1", None), ("-1", None, None)],
)
def test_a_class_that_only_looks_like_a_number(tmp_path: Path, label: str, named: str | None, column: Any) -> None:
    write_tar(tmp_path / "wds" / "shard.tar", {"a.jpg": b"x", "a.cls": label.encode()})

    convert(tmp_path / "wds", tmp_path / "set", to="windlass")

    with Folder(bytes(tmp_path / "set")) as found:
        entry = found.get_entry(0)
        assert (found.get_class(entry), found.get_columns(entry).get("label")) == (named, column)


@pytest.mark.parametrize(
    "own", [5, ["x"], {"jpg": 5}, {"jpg": {"name": 5}}, {"jpg": {"name": "\ud800"}}, {"jpg": {"columns": [1]}}]
)
def test_what_is_none_of_ours_stays_a_column(tmp_path: Path, own: Any) -> None:
    about = json.dumps({"__windlass__": own, "half": "\ud800"}).encode()
    write_tar(tmp_path / "wds" / "shard.tar", {"a.jpg": b"x", "a.json": about})

    done = convert(tmp_path / "wds", tmp_path / "set", to="windlass")
    convert(tmp_path / "wds", tmp_path / "records", to="tfrecord")

    assert "none of ours" in done.notices[0]
    with Folder(bytes(tmp_path / "set")) as found:
        assert found.get_entry(0).name == b"a.jpg"
        assert found.get_columns(found.get_entry(0))["__windlass__"] == own


@pytest.mark.parametrize("columns", [b"{", b"[1]", b"[" * 100_000, b"\xff"])
def test_columns_of_a_record_that_are_none_are_told(tmp_path: Path, columns: bytes) -> None:
    write_record(tmp_path / "set.tfrecord", {CONTENT: [b"x"], COLUMNS: [columns]})

    with pytest.raises(ConvertError, match="record 0: its feature windlass/columns is no JSON"):
        convert(tmp_path / "set.tfrecord", tmp_path / "set", to="windlass")


def test_a_cut_or_flipped_gzip_of_records_is_told(tmp_path: Path) -> None:
    source = tmp_path / "set.tfrecord"
    write_record(source, {CONTENT: [bytes(5000)]})
    whole = gzip.compress(source.read_bytes(), 0)

    source.write_bytes(whole[:3000])
    with pytest.raises(ConvertError, match="is cut off: its gzip stream has no end"):
        convert(source, tmp_path / "set", to="windlass")

    source.write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(ConvertError, match="is damaged: CRC check failed"):
        convert(source, tmp_path / "set", to="windlass")


def test_a_flipped_index_of_our_own_is_no_source(tmp_path: Path) -> None:
    write_tar(tmp_path / "wds" / "shard.tar", {"name.jpg": b"x"})
    convert(tmp_path / "wds", tmp_path / "set", to="windlass")
    index = tmp_path / "set" / "shard-00000.idx"
    index.write_bytes(index.read_bytes().replace(b"name.jpg", b"nome.jpg"))

    with pytest.raises(ConvertError, match="its checksum is another"):
        convert(tmp_path / "set", tmp_path / "zip", to="zip")
