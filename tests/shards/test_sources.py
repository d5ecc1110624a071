"""Lists, tables, archives and the layouts of others become the same kind of data set."""

import json
import tarfile
import warnings
from pathlib import Path
from typing import Literal

import pytest

from tests.shards.sets import make_many, make_tree, pack_small, read_set, read_tree
from tests.shards.test_extracting import make_hostile_archive
from windlass_job.shards import told as words
from windlass_job.shards.archives import ArchiveDamaged
from windlass_job.shards.folder import Folder
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source
from windlass_job.shards.table_rows import TableUnreadable
from windlass_job.shards.walking import NoFolder


def read_labels(folder: Path) -> dict[bytes, tuple[str | None, dict[str, object]]]:
    with Folder(bytes(folder)) as found:
        return {entry.name: (found.get_class(entry), found.get_columns(entry)) for entry in found.iterate()}


@pytest.mark.parametrize("between", [b"\n", b"\0"])
def test_a_list_names_the_files(tmp_path: Path, between: bytes) -> None:
    make_tree(tmp_path, {b"a/1": b"one", b"a/2": b"two", b"b c": b"three", b"other": b"not meant"})
    absolute = bytes(tmp_path) + b"/a/2"
    listed = [b"./a/1", absolute, b"b c", b"a//1", b"../outside", b"missing", b"a"]
    (tmp_path / "files.txt").write_bytes(between.join(listed) + between)

    packed = pack_small(tmp_path / "files.txt", tmp_path / "set")

    assert read_set(tmp_path / "set") == {b"a/1": b"one", b"a/2": b"two", b"b c": b"three"}
    assert packed.told.counts == {words.TWICE: 1, words.OUTSIDE: 1, words.NO_FILE: 2}


@pytest.mark.parametrize("kind", ["files.txt", "files.csv"])
@pytest.mark.parametrize("is_absolute", [False, True])
def test_paths_outside_are_packed_when_asked_for(tmp_path: Path, kind: str, is_absolute: bool) -> None:
    make_tree(tmp_path, {b"data/x": b"1", b"lists/y": b"2"})
    listed = tmp_path / "lists" / kind
    listed.write_text(f"{'path,label' if kind == 'files.csv' else 'y'}\ny\n")
    with listed.open("a") as file:
        file.write(f"{tmp_path}/data/x\n" if is_absolute else "../data/x\n")

    packed = pack_small(listed, tmp_path / "set")
    pack(choose_source(bytes(listed), outside=True), bytes(tmp_path / "all"), Settings("all"))

    assert read_set(tmp_path / "set") == {b"y": b"2"}
    assert packed.told.counts[words.OUTSIDE] == 1
    assert read_set(tmp_path / "all") == {b"y": b"2", bytes(tmp_path / "data" / "x").lstrip(b"/"): b"1"}


def test_absolute_paths_through_a_link_to_the_folder_lie_in_it(tmp_path: Path) -> None:
    make_tree(tmp_path, {b"data/x": b"1"})
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "files.txt").write_text(f"{tmp_path}/data/x\n")

    pack_small(tmp_path / "link" / "files.txt", tmp_path / "set")

    assert read_set(tmp_path / "set") == {b"x": b"1"}


@pytest.mark.parametrize(("suffix", "between"), [("csv", ","), ("tsv", "\t")])
def test_a_table_gives_classes_and_columns(tmp_path: Path, suffix: str, between: str) -> None:
    make_tree(tmp_path, {b"b.jpg": b"1", b"a.jpg": b"2", "ü.jpg".encode(): b"3"})
    rows = [["filename", "label", "caption"], ["b.jpg", "10", "a dog"], ["a.jpg", "9", '"x"'], ["ü.jpg", "9", ""]]
    quoted = [[cell.replace('"', '""').join('""') for cell in row] for row in rows]
    (tmp_path / f"t.{suffix}").write_text("\n".join(between.join(row) for row in quoted), encoding="utf-8-sig")

    packed = pack_small(tmp_path / f"t.{suffix}", tmp_path / "set")

    assert packed.card.classes == ("9", "10")
    assert packed.card.columns == ("caption",)
    assert read_labels(tmp_path / "set") == {
        b"a.jpg": ("9", {"caption": '"x"'}),
        b"b.jpg": ("10", {"caption": "a dog"}),
        "ü.jpg".encode(): ("9", {"caption": ""}),
    }


def test_a_changed_label_is_a_change(tmp_path: Path) -> None:
    make_tree(tmp_path, {b"a": b"1", b"b": b"2"})
    (tmp_path / "t.csv").write_text("path,label\na,cat\nb,dog\n")
    pack_small(tmp_path / "t.csv", tmp_path / "set")
    (tmp_path / "t.csv").write_text("path,label\na,cat\nb,bird\n")

    packed = pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert packed.new_files == 1
    assert packed.card.classes == ("cat", "dog", "bird")
    assert read_labels(tmp_path / "set") == {b"a": ("cat", {}), b"b": ("bird", {})}


def test_a_table_without_paths_says_which_columns_it_has(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"x": 1, "y": 2}\n')

    with pytest.raises(TableUnreadable, match="its columns are x, y"):
        pack_small(tmp_path / "t.jsonl", tmp_path / "set")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_hugging_faces_metadata_become_columns(tmp_path: Path, kind: str) -> None:
    top = make_tree(tmp_path / "top", {b"train/1.png": b"1", b"train/2.png": b"2", b"test/1.png": b"3"})
    rows = [{"file_name": "2.png", "text": "two"}, {"file_name": "gone.png", "text": "x"}]
    lines = [json.dumps(row) for row in rows] if kind == "jsonl" else ["file_name,text", "2.png,two", "gone.png,x"]
    (top / "train" / f"metadata.{kind}").write_text("\n".join(lines))

    packed = pack_small(top, tmp_path / "set")

    labels = read_labels(tmp_path / "set")
    assert labels[b"train/2.png"] == (None, {"text": "two"})
    assert labels[b"train/1.png"] == labels[b"test/1.png"] == (None, {})
    assert packed.told.counts == {words.NO_FILE: 1}
    assert packed.card.columns == ("text",)


def test_a_table_of_labels_beside_a_folder_names_its_classes(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"a/1.png": b"1", b"b/2.png": b"22", b"b/odd \xff": b"3", b"b/none": b"4"})
    table = tmp_path / "labels.csv"
    rows = [b"path,label,year", b"a/1.png,owl,1999", b"b/odd \xff,wren,2000", b"b/2.png,owl,2001", b"../a/gone,owl,1"]
    table.write_bytes(b"\n".join(rows))
    source = choose_source(bytes(top), labels=bytes(table))

    packed = pack(source, bytes(tmp_path / "set"), Settings("set"))

    assert packed.card.classes == ("owl", "wren")
    assert read_set(tmp_path / "set") == read_tree(top)
    assert read_labels(tmp_path / "set") == {
        b"a/1.png": ("owl", {"year": "1999"}),
        b"b/2.png": ("owl", {"year": "2001"}),
        b"b/odd \xff": ("wren", {"year": "2000"}),
        b"b/none": (None, {}),
    }
    assert packed.told.counts == {words.REFUSED_NAME: 1, words.NO_ROW: 1}


def test_a_table_of_labels_must_have_some_and_needs_a_folder(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"a": b"1"})
    table = tmp_path / "labels.csv"
    table.write_text("path,year\na,1999\n")

    with pytest.raises(TableUnreadable, match="no column of labels: its columns are path, year"):
        pack(choose_source(bytes(top), labels=bytes(table)), bytes(tmp_path / "set"), Settings("set"))
    with pytest.raises(NoFolder, match="is no folder, and a table of labels"):
        choose_source(bytes(table), labels=bytes(table))


@pytest.mark.parametrize(("suffix", "mode"), [(".tar", "w:"), (".tar.gz", "w:gz"), (".tar.xz", "w:xz")])
def test_a_tar_is_packed_without_unpacking(tmp_path: Path, suffix: str, mode: Literal["w:", "w:gz", "w:xz"]) -> None:
    top = make_many(tmp_path / "top", 60)
    make_tree(top, {b"class_0/large": b"0123456789" * 400_000, b"n" * 250: b"long"})
    with tarfile.open(tmp_path / f"a{suffix}", mode) as archive:
        archive.add(top, arcname=".")

    packed = pack_small(tmp_path / f"a{suffix}", tmp_path / "set")

    assert read_set(tmp_path / "set") == read_tree(top)
    assert len(packed.card.shards) >= 3


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
def test_what_an_archive_must_not_hold_is_told(tmp_path: Path, suffix: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's about a name that comes twice, which is what is tested
        make_hostile_archive(tmp_path / f"a{suffix}")

    packed = pack_small(tmp_path / f"a{suffix}", tmp_path / "set")

    assert read_set(tmp_path / "set") == {b"a/fine": b"fine", b"twice": b"second"}
    assert packed.told.counts[words.REFUSED_NAME] == 2
    assert packed.told.counts[words.TWICE] == 1


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_hostile_archive(path)
    path.write_bytes(path.read_bytes()[:130])

    with pytest.raises(ArchiveDamaged):
        pack_small(path, tmp_path / "set")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoFolder, match="is not there"):
        pack_small(tmp_path / "missing", tmp_path / "set")
