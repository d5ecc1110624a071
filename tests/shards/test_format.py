"""The bytes of a packed data set: archives that every tar reads, an index that finds each file, a card that counts."""

import io
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass_job.shards.card import Card, CardDamaged, Shard, load_card, read_card, save_card
from windlass_job.shards.folder import FileDamaged, Folder
from windlass_job.shards.index import Index, IndexDamaged, IndexWriter, name_index
from windlass_job.shards.tarring import END, make_header, pad

NAMES = st.binary(min_size=1, max_size=400).filter(
    lambda name: b"\0" not in name and not name.startswith(b"/") and not name.endswith(b"/")
)


def make_archive(files: list[tuple[bytes, bytes]]) -> bytes:
    parts = [
        make_header(name, len(content), 1_700_000_000) + content + bytes(pad(len(content))) for name, content in files
    ]
    return b"".join(parts) + END


def write_set(
    folder: Path, shards: list[list[tuple[bytes, bytes]]], dead: dict[int, tuple[tuple[int, int], ...]]
) -> None:
    made = []
    for number, files in enumerate(shards):
        archive, writer, at = b"", IndexWriter(), 0
        for name, content in files:
            header = make_header(name, len(content), 7)
            writer.add(name, at + len(header), len(content), zlib.crc32(content), 7 * 10**9)
            archive += header + content + bytes(pad(len(content)))
            at = len(archive)
        archive += END
        name_ = f"shard-{number:05}.tar"
        (folder / name_).write_bytes(archive)
        crc = writer.write(bytes(folder / name_index(name_)), len(archive))
        made.append(Shard(name_, len(archive), len(files), crc, dead.get(number, ())))
    save_card(Card("set", made), bytes(folder))


@given(st.lists(st.tuples(NAMES, st.binary(max_size=1500)), max_size=8))
def test_tarfile_reads_back_every_name_and_byte(files: list[tuple[bytes, bytes]]) -> None:
    with tarfile.open(fileobj=io.BytesIO(make_archive(files))) as archive:
        members = archive.getmembers()
        names = [member.name.encode("utf-8", "surrogateescape") for member in members]
        contents = [archive.extractfile(member).read() for member in members]  # type: ignore[union-attr]
    assert (names, contents) == ([name for name, _ in files], [content for _, content in files])


def test_gnu_tar_lists_long_names_and_old_dates(tmp_path: Path) -> None:
    names = [b"d" * 150 + b"/" + b"f" * 90, b"n" * 300, b"short"]
    (tmp_path / "a.tar").write_bytes(make_archive([(name, b"x") for name in names]))
    listed = subprocess.run(["tar", "tf", tmp_path / "a.tar"], capture_output=True, check=True).stdout.split()
    assert listed == names


@given(st.lists(NAMES, max_size=30, unique=True))
def test_the_index_finds_each_name_and_no_other(names: list[bytes]) -> None:
    import tempfile

    writer = IndexWriter()
    for at, name in enumerate(names):
        writer.add(name, 512 + at, at, at, -at, columns={"caption": "ü"} if at % 2 else None)
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(writer.make(10**6))
        index = Index(file.name.encode())
        assert [index.find(name) for name in names] == list(range(len(names)))
        assert list(index.iterate_names()) == [index.get_name(at) for at in range(len(names))] == names
        assert index.find(b"".join(names) + b"!") is None
        assert [index.get_columns(at) for at in range(len(names))] == [
            {"caption": "ü"} if at % 2 else {} for at in range(len(names))
        ]
        assert index.is_whole()
        assert list(index.mtimes_ns) == [-at for at in range(len(names))]
        index.close()


@pytest.mark.parametrize("at", [0, 9, 20, -1])
def test_a_damaged_index_is_refused_or_told(tmp_path: Path, at: int) -> None:
    writer = IndexWriter()
    for number in range(10):
        writer.add(b"name%d" % number, number, number, number, number)
    content = bytearray(writer.make(0))
    content[at] ^= 4
    (tmp_path / "a.idx").write_bytes(content)
    try:
        assert not Index(bytes(tmp_path / "a.idx")).is_whole()
    except IndexDamaged:
        return


@pytest.mark.parametrize("keep", [0, 5, 40, 300])
def test_an_index_cut_short_is_refused(tmp_path: Path, keep: int) -> None:
    writer = IndexWriter()
    for number in range(100):
        writer.add(b"name%d" % number, number, number, number, number)
    (tmp_path / "a.idx").write_bytes(writer.make(0)[:keep])
    with pytest.raises(IndexDamaged):
        Index(bytes(tmp_path / "a.idx"))


def test_dead_files_are_not_counted_and_later_ones_take_their_place(tmp_path: Path) -> None:
    first = [(b"a", b"old"), (b"b", b"1"), (b"c", b"2"), (b"d", b"3")]
    write_set(tmp_path, [first, [(b"a", b"new")]], {0: ((0, 1), (2, 3))})
    with Folder(bytes(tmp_path)) as folder:
        assert [(entry.name, folder.read(entry)) for entry in folder.iterate()] == [
            (b"b", b"1"),
            (b"d", b"3"),
            (b"a", b"new"),
        ]
        assert len(folder) == folder.card.files == 3
        assert [folder.get_entry(number).name for number in range(3)] == [b"b", b"d", b"a"]
        assert folder.find(b"c") is None
        found = folder.find(b"a")
        assert found is not None
        assert found.shard == 1


def test_a_flipped_bit_is_told_by_name(tmp_path: Path) -> None:
    write_set(tmp_path, [[(b"cat.jpg", b"x" * 600), (b"dog.jpg", b"y" * 600)]], {})
    with Folder(bytes(tmp_path)) as folder:
        entry = folder.get_entry(1)
        content = bytearray((tmp_path / "shard-00000.tar").read_bytes())
        content[entry.offset + 17] ^= 1
        (tmp_path / "shard-00000.tar").write_bytes(content)
        assert folder.read(folder.get_entry(0)) == b"x" * 600
        with pytest.raises(FileDamaged, match=r"dog\.jpg in shard-00000\.tar"):
            folder.read(entry)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"format": "other/9"}',
        b'{"format": "windlass-shards/1"}',
        b'{"format": "windlass-shards/1", "name": "x", "files": 0, "bytes": 0, "classes": [], "columns": [],'
        b' "about": {}, "shards": [{"name": "../../etc/passwd", "bytes": 1, "files": 1, "index_crc": 1}]}',
    ],
)
def test_what_is_no_card_is_refused(content: bytes) -> None:
    with pytest.raises(CardDamaged):
        read_card(content)


def test_where_no_card_is_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(CardDamaged, match="is no packed data set"):
        load_card(bytes(tmp_path))
