"""Damaged and hostile sources and sets are told, and never taken for whole ones."""

import gzip
import io
import json
import lzma
import os
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest

from tests.shards.sets import make_many, make_tree, pack_small, read_set, read_tree
from tests.shards.test_format import write_set
from windlass_job import disk
from windlass_job.shards import told as words
from windlass_job.shards.archives import ArchiveDamaged
from windlass_job.shards.card import CARD, CardDamaged, load_card, read_card
from windlass_job.shards.extracting import DIFFERS, extract, extract_archive
from windlass_job.shards.folder import FileDamaged, Folder
from windlass_job.shards.index import IndexDamaged
from windlass_job.shards.layouts import number_classes
from windlass_job.shards.sampling import sample
from windlass_job.shards.table_rows import TableUnreadable
from windlass_job.shards.verifying import verify
from windlass_job.shards.writing import PackFailed


def flip(path: Path, at: int, bits: int = 1) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= bits
    path.write_bytes(content)


def make_tar(files: dict[str, bytes], **header: object) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in header.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_a_gzip_checksum_behind_the_end_of_the_tar_is_heeded(tmp_path: Path) -> None:
    source = tmp_path / "set.tar.gz"
    source.write_bytes(gzip.compress(make_tar({"a": os.urandom(3000)}), 0))
    flip(source, 1800)

    for work in (lambda: pack_small(source, tmp_path / "set"), lambda: extract_archive(bytes(source), bytes(tmp_path))):
        with pytest.raises(ArchiveDamaged, match=r"set\.tar\.gz cannot be read: CRC"):
            work()
    assert not (tmp_path / "a").exists()


def test_a_flipped_xz_is_told_in_words(tmp_path: Path) -> None:
    source = tmp_path / "set.tar.xz"
    source.write_bytes(lzma.compress(make_tar({"a": os.urandom(3000)})))
    flip(source, 900)

    with pytest.raises(ArchiveDamaged, match=r"set\.tar\.xz cannot be read"):
        pack_small(source, tmp_path / "set")


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
@pytest.mark.parametrize("size", [5000, 3 << 20, 33 << 20])
def test_a_damaged_member_of_a_zip_is_named_and_not_written(tmp_path: Path, kind: int, size: int) -> None:
    source = tmp_path / "set.zip"
    with zipfile.ZipFile(source, "w", kind) as archive:
        archive.writestr("bad", os.urandom(5000) + bytes(size - 5000))
        archive.writestr("good", b"good")
    flip(source, 1000, 0xFF)

    packed = pack_small(source, tmp_path / "set")

    assert packed.told.counts == {words.DAMAGED: 1}
    assert words.find_faults(packed.told.make_lines()) == packed.told.make_lines()
    assert read_set(tmp_path / "set") == {b"good": b"good"}
    assert sum(path.stat().st_size for path in (tmp_path / "set").glob("*.tar")) < 10_000


def test_a_member_that_is_damaged_leaves_no_empty_shard_however_often_it_is_packed(tmp_path: Path) -> None:
    source = tmp_path / "set.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("a/good", b"good" * 20_000)
        archive.writestr("b/bad", os.urandom(80_000))
    flip(source, source.stat().st_size - 40_000, 0xFF)

    rounds = [pack_small(source, tmp_path / "set") for _ in range(3)]

    assert [one.told.counts for one in rounds] == [{words.DAMAGED: 1}] * 3
    assert [one.new_files for one in rounds] == [1, 0, 0]
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [CARD, "shard-00000.idx", "shard-00000.tar"]
    assert verify(bytes(tmp_path / "set")) == []


def test_nothing_is_left_of_a_zip_of_which_nothing_can_be_read(tmp_path: Path) -> None:
    source = tmp_path / "set.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("bad", os.urandom(5000))
    flip(source, 1000, 0xFF)

    with pytest.raises(PackFailed, match=r"no file of .*set\.zip can be read"):
        pack_small(source, tmp_path / "set", may_be_empty=False)

    assert not (tmp_path / "set").exists()


def test_a_flipped_byte_is_mended_by_packing_again_with_verify_and_not_seen_without(tmp_path: Path) -> None:
    """Without it only names, sizes and times are compared, as rsync does: packing again stays cheap."""
    source, target = make_many(tmp_path / "source", 60), tmp_path / "set"
    pack_small(source, target)
    flip(target / "shard-00001.tar", 2000)
    (hurt,) = verify(bytes(target))

    cheap = pack_small(source, target)
    thorough = pack_small(source, target, verify=True)

    assert hurt.name is not None
    assert (cheap.new_files, cheap.dead_files) == (0, 0)
    assert thorough.new_files == thorough.dead_files > 0
    assert read_set(target) == read_tree(source)
    assert not (target / "shard-00001.tar").exists()
    assert verify(bytes(target)) == []
    assert pack_small(source, target, verify=True).new_files == 0


def test_a_flipped_byte_in_a_file_that_was_replaced_is_mended_too(tmp_path: Path) -> None:
    """Every tool that opens the shard would meet it, and nobody would take the data set as it is."""
    source, target = make_many(tmp_path / "source", 60), tmp_path / "set"
    pack_small(source, target)
    with Folder(bytes(target)) as folder:
        first = next(iter(folder.iterate())).name
    (source / os.fsdecode(first)).write_bytes(b"changed")
    pack_small(source, target)
    flip(target / "shard-00000.tar", 600)
    (hurt,) = verify(bytes(target))

    pack_small(source, target, verify=True)

    assert hurt.name == first
    assert verify(bytes(target)) == []
    assert read_set(target) == read_tree(source)


def test_a_damage_of_a_whole_shard_is_packed_anew_and_not_file_by_file(tmp_path: Path) -> None:
    source, target = make_many(tmp_path / "source", 60), tmp_path / "set"
    pack_small(source, target)
    end = (target / "shard-00000.tar").stat().st_size - 1
    flip(target / "shard-00000.tar", end)

    with pytest.raises(PackFailed, match=r"shard-00000\.tar: its end is not that of an archive") as told:
        pack_small(source, target, verify=True)
    pack_small(source, target, verify=True, anew=True)

    assert told.value.option == "--anew"
    assert verify(bytes(target)) == []


def test_a_zip_of_a_later_version_and_one_with_a_broken_name_are_told_in_words(tmp_path: Path) -> None:
    source = tmp_path / "set.zip"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("größe", b"1")
    whole = source.read_bytes()
    place = whole.index(b"PK\1\2")

    source.write_bytes(whole[: place + 6] + b"\xff" + whole[place + 7 :])
    with pytest.raises(ArchiveDamaged, match="zip file version"):
        pack_small(source, tmp_path / "set")

    source.write_bytes(whole[:place] + whole[place:].replace("größe".encode(), b"gr\xff\xffe\xff\xff", 1))
    with pytest.raises(ArchiveDamaged, match="a name in it is no UTF-8"):
        pack_small(source, tmp_path / "set")


def test_times_that_are_none_and_times_after_2262_are_packed(tmp_path: Path) -> None:
    endless = tmp_path / "endless.tar"
    endless.write_bytes(make_tar({"a": b"1"}, pax_headers={"mtime": "inf"}))
    late = tmp_path / "late.tar"
    late.write_bytes(make_tar({"a": b"1", "b": b"2"}, mtime=20_000_000_000))

    pack_small(endless, tmp_path / "one")
    pack_small(late, tmp_path / "two")
    again = pack_small(late, tmp_path / "two")

    assert read_set(tmp_path / "one") == {b"a": b"1"}
    assert read_set(tmp_path / "two") == {b"a": b"1", b"b": b"2"}
    assert not verify(bytes(tmp_path / "two"))
    assert again.new_files == 0


def test_a_flipped_index_gives_no_wrong_names(tmp_path: Path) -> None:
    pack_small(make_many(tmp_path / "top", 20), tmp_path / "set")
    index = next((tmp_path / "set").glob("*.idx"))
    flip(index, index.read_bytes().index(b"00003.bin"))

    with pytest.raises(IndexDamaged, match="its checksum is another"):
        extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))
    with pytest.raises(IndexDamaged, match="its checksum is another"):
        sample(bytes(tmp_path / "set"), bytes(tmp_path / "few"), 1, 0, packed=True)
    assert read_tree(tmp_path / "out") == {}


def test_an_index_whose_numbers_lie_asks_for_no_memory(tmp_path: Path) -> None:
    pack_small(make_tree(tmp_path / "top", {b"a": b"1"}), tmp_path / "set")

    with Folder(bytes(tmp_path / "set")) as found:
        entry = found.get_entry(0)
        entry.size = 1 << 62

        with pytest.raises(FileDamaged, match=r"a in shard-00000\.tar is damaged"):
            found.read(entry)


def test_a_missing_shard_or_index_is_told(tmp_path: Path) -> None:
    pack_small(make_many(tmp_path / "top", 60), tmp_path / "set")
    shards = sorted((tmp_path / "set").glob("*.tar"))
    held = len(read_set(tmp_path / "set"))
    shards[0].unlink()

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert len(shards) > 1
    assert "shard-00000.tar is missing, and with it its files" in done.damaged[0]
    assert done.files + len(done.damaged) == held == 60

    shards[0].with_suffix(".idx").unlink()
    with pytest.raises(IndexDamaged, match="is missing"):
        extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))


def test_verify_counts_the_files_of_the_card(tmp_path: Path) -> None:
    pack_small(make_many(tmp_path / "top", 10), tmp_path / "set")
    card = tmp_path / "set" / CARD
    found = json.loads(card.read_text())
    found["shards"][0]["files"] += 900
    card.write_text(json.dumps(found))

    damages = verify(bytes(tmp_path / "set"))

    assert [one.problem for one in damages] == ["the card says that it has 910 files, and its index 10"]


def test_files_of_one_name_and_size_are_not_taken_for_one_another(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    write_set(tmp_path / "set", [[(b"0.jpg", b"first!")], [(b"0.jpg", b"second")]], {})

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert (done.files, done.kept, done.told.counts) == (1, 0, {DIFFERS: 1})


def test_one_damaged_file_of_a_compressed_set_keeps_no_other_back(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"%d.txt" % n: b"%d words " % n * 500 for n in range(10)})
    pack_small(top, tmp_path / "set", compress=True)
    with Folder(bytes(tmp_path / "set")) as found:
        entry = found.get_entry(0)
    flip(tmp_path / "set" / "shard-00000.tar", entry.offset + entry.size // 2)

    done = extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert (done.files, len(done.damaged)) == (9, 1)
    assert read_tree(tmp_path / "out") == {b"%d.txt" % n: b"%d words " % n * 500 for n in range(1, 10)}


def test_what_a_killed_extraction_left_is_gone_after_the_next(tmp_path: Path) -> None:
    pack_small(make_tree(tmp_path / "top", {b"a/1": b"1", b"2": b"2"}), tmp_path / "set")
    extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))
    for folder in (tmp_path / "out", tmp_path / "out" / "a"):
        (folder / (".part-" + disk.make_suffix().decode())).write_bytes(b"half")
    (tmp_path / "out" / ".part-of-mine").write_bytes(b"mine")

    extract(bytes(tmp_path / "set"), bytes(tmp_path / "out"))

    assert read_tree(tmp_path / "out") == {b"a/1": b"1", b"2": b"2", b".part-of-mine": b"mine"}


def test_a_card_of_endless_numbers_is_damaged(tmp_path: Path) -> None:
    pack_small(make_tree(tmp_path / "top", {b"a": b"1"}), tmp_path / "set")
    content = (tmp_path / "set" / CARD).read_bytes().replace(b'"bytes": 1,', b'"bytes": 1e999,')

    assert b"1e999" in content
    with pytest.raises(CardDamaged, match="no card of a data set"):
        read_card(content)
    assert load_card(bytes(tmp_path / "set")).bytes == 1


def test_a_sample_of_a_hostile_name_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    write_set(tmp_path / "set", [[(b"../up", b"x")]], {})

    with pytest.raises(FileDamaged, match=r"'\.\./up' is a name that leads out"):
        sample(bytes(tmp_path / "set"), bytes(tmp_path / "few"), 1, 0)


def test_labels_that_only_look_like_numbers_are_sorted_as_words() -> None:
    assert number_classes({"²", "10", "9"}, ()) == ("10", "9", "²")
    assert number_classes({"1" * 5000, "2"}, ()) == ("1" * 5000, "2")
    assert number_classes({"10", "9"}, ()) == ("9", "10")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"path": "a", "label": "\\ud800"}', r"line 1: '\\ud800' is no text"),
        ('{"path": "\\ud800", "label": "a"}', r"line 1: '\\ud800' is no text"),
        ('{"path": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 1 is nested too deep"),
    ],
)
def test_a_table_of_half_characters_or_endless_nesting_is_told(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "rows.jsonl").write_text(line + "\n")

    with warnings.catch_warnings(), pytest.raises(TableUnreadable, match=said):
        pack_small(tmp_path / "rows.jsonl", tmp_path / "set")
