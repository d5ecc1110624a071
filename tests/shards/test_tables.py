"""Tables as people write them: with a header or without, from any spreadsheet, with rows about files that are gone."""

from pathlib import Path

import pytest

from tests.shards.sets import make_tree, pack_small, read_set
from tests.shards.test_classes import read_classes
from windlass_job.shards import told as words
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source
from windlass_job.shards.tables import TableUnreadable

FILES = {b"p/1.jpg": b"1", b"p/2.jpg": b"2"}
CLASSES = {b"p/1.jpg": "cat", b"p/2.jpg": "dog"}


@pytest.mark.parametrize(
    "header", ["img_path,label", "Image Path,Label", "image_path,class_name", "filepath,label", "snapshot,label"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_header_is_no_row(tmp_path: Path, header: str, end: str, between: str) -> None:
    make_tree(tmp_path, FILES)
    lines = [header, "p/1.jpg,cat", "p/2.jpg,dog"]
    (tmp_path / "t.csv").write_bytes(end.join(lines).replace(",", between).encode())

    packed = pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
    assert packed.card.columns == ()
    assert read_classes(tmp_path / "set") == CLASSES
    assert packed.told.counts == {}


@pytest.mark.parametrize("rows", [["p/1.jpg,cat", "p/2.jpg,dog"], ["gone.jpg,cow", "p/1.jpg,cat", "p/2.jpg,dog"]])
def test_without_a_header_the_first_row_is_a_row(tmp_path: Path, rows: list[str]) -> None:
    make_tree(tmp_path, FILES)
    (tmp_path / "t.csv").write_text("\n".join(rows))

    packed = pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
    assert read_classes(tmp_path / "set") == CLASSES


def test_labels_may_come_before_paths(tmp_path: Path) -> None:
    make_tree(tmp_path, FILES)
    (tmp_path / "t.csv").write_text("cat,p/1.jpg\ndog,p/2.jpg\n")

    pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert read_classes(tmp_path / "set") == CLASSES


@pytest.mark.parametrize("is_folder", [False, True])
def test_rows_without_a_file_make_no_classes(tmp_path: Path, is_folder: bool) -> None:
    make_tree(tmp_path, FILES)
    rows = ["path,label", "gone,ant", "p/1.jpg,bee", "p/1.jpg,cat", "p/2.jpg,dog", "p/3.jpg,cow"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    source = choose_source(bytes(tmp_path / "p"), labels=bytes(tmp_path / "t.csv"))
    if is_folder:
        (tmp_path / "t.csv").write_text("\n".join(rows).replace("p/", ""))

    packed = pack(
        source if is_folder else choose_source(bytes(tmp_path / "t.csv")), bytes(tmp_path / "set"), Settings("set")
    )

    assert packed.card.classes == ("cat", "dog")
    assert packed.told.counts == {words.NO_FILE: 2, words.TWICE: 1}


def test_an_empty_label_is_none(tmp_path: Path) -> None:
    make_tree(tmp_path, FILES)
    (tmp_path / "t.csv").write_text("path,label\np/1.jpg,cat\np/2.jpg,\n")

    packed = pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert packed.card.classes == ("cat",)
    assert read_classes(tmp_path / "set") == {**CLASSES, b"p/2.jpg": None}


def test_labels_without_paths_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("what,label\n1,cat\n")

    with pytest.raises(TableUnreadable, match="has no column of paths: its columns are what, label"):
        pack_small(tmp_path / "t.csv", tmp_path / "set")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_list_from_windows_names_the_files(tmp_path: Path, start: bytes) -> None:
    make_tree(tmp_path, FILES)
    (tmp_path / "files.txt").write_bytes(start + b"p/1.jpg\r\np/2.jpg\r\n")

    packed = pack_small(tmp_path / "files.txt", tmp_path / "set")

    assert read_set(tmp_path / "set") == FILES
    assert packed.told.counts == {}
