"""The bytes that we write by hand: checksums, Examples, records, archives; as the standard library reads them."""

import os
import struct
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.sets import JPEG, SAMPLES, load, make_source, save
from windlass.errors import ConvertError
from windlass.formats import FORMATS, crc32c
from windlass.formats.example import make_example, read_example
from windlass.formats.form import Notices, Sample, check_name, cut_shards
from windlass.formats.tfrecord import iterate_records

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
FLOAT32 = st.floats(width=32, allow_nan=False)
VALUES = st.one_of(
    st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    st.lists(INT64, min_size=1, max_size=4),
    st.lists(FLOAT32, min_size=1, max_size=4),
)


def test_the_checksum_is_crc32c() -> None:
    """The check value that the catalogues of CRCs give, and those of RFC 3720."""
    assert crc32c.compute(b"123456789") == 0xE3069283
    assert crc32c.compute(bytes(32)) == 0x8A9136AA
    assert crc32c.compute(b"\xff" * 32) == 0x62A8AB43


@given(st.binary(max_size=5000))
def test_a_library_and_the_table_agree(content: bytes) -> None:
    compute, _ = crc32c.choose()
    assert compute(content) == crc32c.compute(content)


@given(st.dictionaries(st.text(max_size=30), VALUES, max_size=6))
def test_an_example_is_read_back(features: dict[str, list[bytes] | list[int] | list[float]]) -> None:
    assert read_example(make_example(features)) == features


@given(st.binary(max_size=60))
def test_what_is_no_example_is_refused_or_read(record: bytes) -> None:
    try:
        found = read_example(record)
    except ValueError:
        return

    assert all(isinstance(name, str) for name in found)


def test_numbers_that_are_not_packed_are_read_too() -> None:
    """As writers of proto2 do: a field for each."""
    feature = b"\x1a\x04\x08\x05\x08\x07"  # int64_list { value: 5 value: 7 }
    entry = b"\x0a\x01k\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    assert read_example(b"\x0a" + bytes([len(features)]) + features) == {"k": [5, 7]}


def test_a_record_is_length_checksum_bytes_checksum(tmp_path: Path) -> None:
    path = save(FORMATS["tfrecord"], tmp_path, make_source(SAMPLES[:1])) / "shard-00000.tfrecord"
    content = path.read_bytes()
    (size,) = struct.unpack_from("<Q", content)

    assert len(content) == 8 + 4 + size + 4
    assert list(iterate_records(path)) == [content[12:-4]]
    assert struct.unpack_from("<I", content, 8) == (crc32c.mask(crc32c.compute(content[:8])),)
    assert struct.unpack("<I", content[-4:]) == (crc32c.mask(crc32c.compute(content[12:-4])),)


@pytest.mark.parametrize("at", [0, 9, 13, 200, -1])
def test_any_flipped_bit_of_a_record_is_found(at: int, tmp_path: Path) -> None:
    path = save(FORMATS["tfrecord"], tmp_path, make_source(SAMPLES[:1])) / "shard-00000.tfrecord"
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)

    with pytest.raises(ConvertError, match="checksum"):
        list(iterate_records(path))


def test_the_index_says_where_each_record_begins_and_how_long_it_is(tmp_path: Path) -> None:
    folder = save(FORMATS["tfrecord"], tmp_path, make_source())
    content = (folder / "shard-00000.tfrecord").read_bytes()
    lines = (folder / "shard-00000.idx").read_text().splitlines()

    places = [tuple(int(one) for one in line.split(" ")) for line in lines]

    assert [struct.unpack_from("<Q", content, at)[0] + 16 for at, _ in places] == [size for _, size in places]
    assert [at for at, _ in places] == [sum(size for _, size in places[:number]) for number in range(len(places))]
    assert sum(size for _, size in places) == len(content)


def test_zipfile_reads_every_name_and_byte(tmp_path: Path) -> None:
    path = save(FORMATS["zip"], tmp_path, make_source())

    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert [archive.read(one) for one in archive.infolist()] == [one.content for one in SAMPLES]
        assert [one.compress_type for one in archive.infolist()] == [zipfile.ZIP_STORED] * len(SAMPLES)
        assert archive.namelist()[4] == "élan/naïve name\nwith a line.jpg"


def test_a_zip_of_more_files_than_16_bits_can_count(tmp_path: Path) -> None:
    samples = [Sample(b"%d" % at, b"") for at in range(70_000)]

    path = save(FORMATS["zip"], tmp_path, make_source(samples))

    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == [str(at) for at in range(70_000)]


def test_tarfile_and_tar_read_a_webdataset(tmp_path: Path) -> None:
    path = save(FORMATS["webdataset"], tmp_path, make_source()) / "shard-00000.tar"

    with tarfile.open(path) as archive:
        contents = {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]
    listed = subprocess.run(["tar", "tf", path], capture_output=True, check=True).stdout

    assert contents["cat/one.jpg"] == JPEG
    assert contents["cat/one.cls"] == b"0"
    assert contents["dog/v1_2_final.jpg"] == JPEG + b"dots"
    assert listed.startswith(b"cat/one.jpg\ncat/one.cls\ncat/one.json\ncat/two.png\n")


def test_links_and_devices_in_a_tar_are_left_out_and_told(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        (tmp_path / "x.jpg").write_bytes(JPEG)
        archive.add(tmp_path / "x.jpg", "x.jpg")

    source, found = load(FORMATS["webdataset"], tmp_path / "a.tar", tmp_path / "scratch")

    assert [(one.name, one.content) for one in found] == [(b"x.jpg", JPEG)]
    assert source.notices.list() == ("a link or device in an archive was left out (3 times)",)


def test_links_in_a_zip_are_left_out_and_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("x.jpg", JPEG)

    source, found = load(FORMATS["zip"], tmp_path / "a.zip", tmp_path / "scratch")

    assert [one.name for one in found] == [b"x.jpg"]
    assert source.notices.list() == ("a symbolic link was left out",)


@given(st.binary(max_size=60))
def test_a_name_that_is_let_in_stays_in_its_folder(name: bytes) -> None:
    try:
        stored = check_name(name, Notices())
    except ConvertError:
        return

    assert os.path.normpath(b"/target/" + stored) == b"/target/" + stored
    assert b"\0" not in stored


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 100))
def test_shards_are_cut_without_losing_a_sample(sizes: list[int], shard_bytes: int) -> None:
    samples = [Sample(b"%d" % at, bytes(size)) for at, size in enumerate(sizes)]

    shards = [list(shard) for shard in cut_shards(samples, shard_bytes)]

    assert [one for shard in shards for one in shard] == samples
    assert all(shards)
    assert all(sum(len(one.content) for one in shard[:-1]) < shard_bytes for shard in shards)


@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\nexit\n"])
@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_zipfile_wrote_is_read(kind: int, before: bytes, tmp_path: Path) -> None:
    """Also behind a script that unpacks it, and with a remark at the end."""
    path = tmp_path / "a.zip"
    path.write_bytes(before)
    with zipfile.ZipFile(path, "a", kind) as archive:
        archive.comment = b"made by hand" * 90
        archive.mkdir("ä")
        for number in range(50):
            archive.writestr(f"ä/{number}.txt", JPEG * number)

    source, found = load(FORMATS["zip"], path, tmp_path / "scratch")

    assert [(one.name, one.content) for one in found] == [(f"ä/{at}.txt".encode(), JPEG * at) for at in range(50)]
    assert (source.files, source.total_bytes) == (50, sum(range(50)) * len(JPEG))


def test_sizes_of_more_than_32_bits_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive, archive.open("a.jpg", "w", force_zip64=True) as file:
        file.write(JPEG)

    assert [one.content for one in load(FORMATS["zip"], tmp_path / "a.zip", tmp_path / "scratch")[1]] == [JPEG]


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_is_not_known_is_told(kind: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", kind) as archive:
        archive.writestr("a.jpg", JPEG)

    with pytest.raises(ConvertError, match="compressed by method"):
        load(FORMATS["zip"], tmp_path / "a.zip", tmp_path / "scratch")


def test_a_file_that_grows_beyond_what_was_promised_is_refused(tmp_path: Path) -> None:
    """A bomb: its directory says 10 bytes, and it holds megabytes."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jpg", bytes(5_000_000))
    content = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(content.replace(struct.pack("<I", 5_000_000), struct.pack("<I", 10)))

    with pytest.raises(ConvertError, match="does not fit"):
        load(FORMATS["zip"], tmp_path / "a.zip", tmp_path / "scratch")
