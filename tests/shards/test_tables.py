"""Tables as people write them: with a header or without, from any spreadsheet, with rows about files that are gone."""

from pathlib import Path

import pytest

from tests.shards.sets import make_tree, pack_small, read_set
from tests.shards.test_classes import read_classes
from windlass_job.shards import told as words
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source
from windlass_job.shards.table_rows import TableUnreadable
from windlass_job.shards.writing import PackFailed

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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('path,label\np/1.jpg,"cat\np/2.jpg,dog\n', "line 2: a quote is opened there and not closed"),
        ('path,label\np/1.jpg,"cat\np/2.jpg,"dog"\n', "line 2: a quote is opened there and not closed"),
        ('path,label\np/1.jpg,"cat\np/2.jpg,dog"\n', "line 2: the label .* has more than one line"),
        ("path,label,label\np/1.jpg,cat,dog\n", "has two columns 'label'"),
        ("path,path,label\np/1.jpg,p/2.jpg,dog\n", "has two columns 'path'"),
        ("path,label\np/1.jpg,cat\np/2.jpg,chat\udce9\n", "line 3: 'chat.*' is no UTF-8"),
        ("path,label\np/1.jpg,cat\np/\udce9.jpg,dog\n", "line 3: 'p/.*' is no UTF-8"),
    ],
)
def test_what_would_be_misread_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    make_tree(tmp_path, FILES)
    (tmp_path / "t.csv").write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(TableUnreadable, match=words):
        pack_small(tmp_path / "t.csv", tmp_path / "set")


@pytest.mark.parametrize(
    "text",
    [
        "path,label\np/1.jpg,cat\np/2.jpg, dog\n",
        "path, label\n p/1.jpg,cat \np/2.jpg,dog\n",
        "sep=;\npath;label\np/1.jpg;cat\np/2.jpg;dog\n",
        "SEP=|\r\npath|label\r\np/1.jpg|cat\r\np/2.jpg|dog\r\n",
        "# made by hand, today\n\n# of two\npath,label\np/1.jpg,cat\np/2.jpg,dog\n",
        "# made by hand\np/1.jpg,cat\np/2.jpg,dog\n",
        "path,label\np\\1.jpg,cat\np\\2.jpg,dog\n",
        "p\\1.jpg,cat\np\\2.jpg,dog\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_as_people_and_programs_write_them(tmp_path: Path, text: str, encoding: str) -> None:
    make_tree(tmp_path, FILES)
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))

    packed = pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
    assert read_classes(tmp_path / "set") == CLASSES
    assert packed.told.counts == {}


def test_names_of_files_that_are_no_utf8_are_found(tmp_path: Path) -> None:
    make_tree(tmp_path, {b"p/\xe9.jpg": b"1"})
    (tmp_path / "t.csv").write_bytes(b"path,label\np/\xe9.jpg,cat\n")

    pack_small(tmp_path / "t.csv", tmp_path / "set")

    assert read_classes(tmp_path / "set") == {b"p/\xe9.jpg": "cat"}


def test_utf16_without_its_mark_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("path,label\np/1.jpg,cat\n".encode("utf-16-le"))

    with pytest.raises(TableUnreadable, match="bytes that no text has"):
        pack_small(tmp_path / "t.csv", tmp_path / "set")


def test_a_list_in_utf16_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("p/1.jpg\n", encoding="utf-16")

    with pytest.raises(TableUnreadable, match="is UTF-16"):
        pack_small(tmp_path / "t.txt", tmp_path / "set")


def test_files_without_a_row_are_counted(tmp_path: Path) -> None:
    make_tree(tmp_path / "p", {b"1.jpg": b"1", b"2.jpg": b"2", b"3.jpg": b"3"})
    (tmp_path / "t.csv").write_text("path,label\n1.jpg,cat\n")
    source = choose_source(bytes(tmp_path / "p"), labels=bytes(tmp_path / "t.csv"))

    packed = pack(source, bytes(tmp_path / "set"), Settings("set"))

    assert packed.told.counts == {words.NO_ROW: 2}


def test_a_table_that_names_no_file_says_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("path,label\nq\\1.jpg,cat\n")

    with pytest.raises(PackFailed, match=r"holds no files that can be packed: 1 row without a file: 'q"):
        pack(choose_source(bytes(tmp_path / "t.csv")), bytes(tmp_path / "set"), Settings("set", may_be_empty=False))
