"""Which files are samples, and of which class: by folders, in archives as in folders."""

import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.shards.sets import make_tree, pack_small, read_set, read_tree
from windlass_job.shards import told as words
from windlass_job.shards.extracting import extract_archive
from windlass_job.shards.folder import Folder
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source
from windlass_job.shards.walking import NoFolder

PETS = {b"dog/1.jpg": b"1", b"cat/2.jpg": b"2", b"cat/3.jpg": b"3"}
LITTER = {b".DS_Store": b"x", b"cat/._2.jpg": b"x", b"dog/Thumbs.db": b"x", b"cat/.ipynb_checkpoints/2.jpg": b"x"}


def read_classes(folder: Path) -> dict[bytes, str | None]:
    with Folder(bytes(folder)) as found:
        return {entry.name: found.get_class(entry) for entry in found.iterate()}


def archive(top: Path, path: Path, *, around: str = "") -> Path:
    """The way people make them, in the order in which the files lie. around: a folder around everything."""
    names = sorted((str(one.relative_to(top)) for one in top.rglob("*")), reverse=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as made:
            for name in names:
                made.write(top / name, f"{around}{name}")
        return path
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as tar:
        for name in names:
            tar.add(top / name, f"{around}{name}", recursive=False)
    return path


@pytest.mark.parametrize("around", ["", "pets/", "./"])
@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".zip"])
@pytest.mark.parametrize("splits", [(), (b"train/", b"val/")])
def test_an_archive_has_the_classes_of_the_folder(
    tmp_path: Path, suffix: str, around: str, splits: tuple[bytes, ...]
) -> None:
    files = {split + name: content for split in splits or (b"",) for name, content in PETS.items()}
    top = make_tree(tmp_path / "top", files)
    (top / os.fsdecode((splits or (b"",))[0]) / "empty").mkdir()
    of_folder = pack_small(top, tmp_path / "of-folder")

    packed = pack_small(archive(top, tmp_path / f"a{suffix}", around=around), tmp_path / "set")

    before = around.removeprefix("./").encode()
    assert packed.card.classes == of_folder.card.classes == ("cat", "dog", "empty")
    assert read_classes(tmp_path / "set") == {
        before + name: label for name, label in read_classes(tmp_path / "of-folder").items()
    }


def test_an_archive_packed_again_keeps_the_numbers_of_its_classes(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", PETS)
    pack_small(archive(top, tmp_path / "a.tar"), tmp_path / "set")
    make_tree(top, {b"ant/1.jpg": b"4"})

    packed = pack_small(archive(top, tmp_path / "a.tar"), tmp_path / "set")

    assert packed.card.classes == ("cat", "dog", "ant")
    assert packed.new_files == 1


@pytest.mark.parametrize("suffix", ["", ".tar", ".zip"])
def test_what_systems_and_editors_leave_is_no_sample_and_no_class(tmp_path: Path, suffix: str) -> None:
    top = make_tree(tmp_path / "top", {**PETS, **LITTER, b"__MACOSX/cat/._2.jpg": b"x"})
    source = archive(top, tmp_path / f"a{suffix}") if suffix else top

    packed = pack_small(source, tmp_path / "set")

    assert read_set(tmp_path / "set") == PETS
    assert packed.card.classes == ("cat", "dog")
    assert packed.told.counts == {words.LITTER: 5}


def test_what_is_extracted_from_an_archive_is_all_of_it(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {**PETS, **LITTER, b"README.md": b"x"})

    extract_archive(bytes(archive(top, tmp_path / "a.tar")), bytes(tmp_path / "out"))

    assert read_tree(tmp_path / "out") == read_tree(top)


@pytest.mark.parametrize("suffix", ["", ".zip"])
def test_files_beside_the_classes_are_told_and_those_for_people_left_out(tmp_path: Path, suffix: str) -> None:
    top = make_tree(tmp_path / "top", {**PETS, b"README.md": b"x", b"LICENSE": b"x", b"index.json": b"{}"})
    source = archive(top, tmp_path / f"a{suffix}") if suffix else top

    packed = pack_small(source, tmp_path / "set")

    assert read_set(tmp_path / "set") == {**PETS, b"index.json": b"{}"}
    assert packed.told.counts == {words.DOCUMENTATION: 2, words.BESIDE_CLASSES: 1}


def test_without_classes_a_readme_is_a_file_as_any(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"README.md": b"x", b"1.jpg": b"1", b".git/config": b"2"})

    packed = pack_small(top, tmp_path / "set")

    assert read_set(tmp_path / "set") == read_tree(top)
    assert packed.told.counts == {}


def test_hidden_folders_are_no_classes(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {**PETS, b".git/config": b"2"})

    packed = pack_small(top, tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
    assert packed.told.counts == {words.BESIDE_CLASSES: 1}


def test_a_table_that_gave_columns_or_labels_is_no_sample(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", PETS)
    (top / "metadata.csv").write_text("file_name,text\ncat/2.jpg,two\n")
    pack_small(top, tmp_path / "columns")
    (top / "metadata.csv").rename(top / "labels.csv")
    (top / "labels.csv").write_text("path,label\ncat/2.jpg,tom\ndog/1.jpg,rex\n")
    source = choose_source(bytes(top), labels=bytes(top / "labels.csv"))

    pack(source, bytes(tmp_path / "labels"), Settings("labels"))

    assert read_set(tmp_path / "columns") == PETS
    assert read_classes(tmp_path / "columns") == {b"dog/1.jpg": "dog", b"cat/2.jpg": "cat", b"cat/3.jpg": "cat"}
    assert read_classes(tmp_path / "labels") == {b"dog/1.jpg": "rex", b"cat/2.jpg": "tom", b"cat/3.jpg": None}


def test_a_table_in_an_archive_is_told(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"1.jpg": b"1", b"metadata.csv": b"file_name,text\n1.jpg,one\n"})

    packed = pack_small(archive(top, tmp_path / "a.zip"), tmp_path / "set")

    assert packed.told.counts == {words.TABLE_INSIDE: 1}


@pytest.mark.parametrize("suffix", ["", ".tar", ".zip"])
@pytest.mark.parametrize("around", ["images/", "data/train/", "repo/data/train/", "wrap/images/"])
def test_a_folder_around_all_classes_is_none(tmp_path: Path, suffix: str, around: str) -> None:
    top = make_tree(tmp_path / "top", {around.encode() + name: content for name, content in PETS.items()})
    make_tree(top, {b"README.md": b"x", b".git/objects/ab/1": b"x", b".gitattributes": b"x"})
    source = archive(top, tmp_path / f"a{suffix}") if suffix else top

    packed = pack_small(source, tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
    assert read_classes(tmp_path / "set") == {
        **{around.encode() + name: os.fsdecode(name.partition(b"/")[0]) for name in PETS},
        b".git/objects/ab/1": None,
        b".gitattributes": None,
    }
    assert f" in {around.removesuffix('train/').removesuffix('/')}" in packed.card.about["layout"]
    assert packed.told.notes == []


@pytest.mark.parametrize("suffix", [".tar", ".zip"])
@pytest.mark.parametrize("around", [b"data/imgs/", b"data/imgs/train/"])
def test_the_folder_that_was_archived_is_one_more_around_all(tmp_path: Path, suffix: str, around: bytes) -> None:
    top = make_tree(tmp_path / "pets", {around + name: content for name, content in PETS.items()})
    source = archive(top, tmp_path / f"a{suffix}", around="pets/")

    packed = pack_small(source, tmp_path / "set")

    assert packed.card.classes == pack_small(top, tmp_path / "of-folder").card.classes == ("cat", "dog")


@pytest.mark.parametrize("suffix", [".tar", ".zip"])
def test_classes_below_more_folders_are_told_in_archives_too(tmp_path: Path, suffix: str) -> None:
    top = make_tree(tmp_path / "top", {b"a/b/c/d/" + name: content for name, content in PETS.items()})

    packed = pack_small(archive(top, tmp_path / f"a{suffix}"), tmp_path / "set")

    assert packed.card.classes == ()
    assert "folders in a/b/c/d look like classes" in "".join(packed.told.notes)


@pytest.mark.parametrize("suffix", ["", ".tar"])
@pytest.mark.parametrize("below", [b"", b"train/"])
def test_folders_that_look_like_classes_below_a_folder_among_files_are_told(
    tmp_path: Path, suffix: str, below: bytes
) -> None:
    files = {b"images/" + below + name: content for name, content in PETS.items()}
    top = make_tree(tmp_path / "top", {**files, b"index.json": b"{}"})
    source = archive(top, tmp_path / f"a{suffix}") if suffix else top

    packed = pack_small(source, tmp_path / "set")

    assert packed.card.classes == ()
    assert packed.told.notes == [
        "no classes were found, and all labels are -1; folders in images look like classes: pack images alone"
    ]
    assert pack_small(top / "images", tmp_path / "alone").card.classes == ("cat", "dog")


def test_a_folder_of_data_sets_is_none(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", PETS)
    pack_small(top, tmp_path / "packed" / "pets")

    with pytest.raises(NoFolder, match=r"holds packed data sets only: name the one that is meant: .*/packed/pets$"):
        pack_small(tmp_path / "packed", tmp_path / "again")
    (tmp_path / "packed" / "photo.jpg").write_bytes(b"1")

    pack_small(tmp_path / "packed", tmp_path / "again")
    assert b"photo.jpg" in read_set(tmp_path / "again")


def test_a_table_of_labels_needs_no_such_word(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"images/" + name: content for name, content in PETS.items()})
    (top / "labels.csv").write_text("path,label\nimages/cat/2.jpg,tom\nimages/dog/1.jpg,rex\n")
    source = choose_source(bytes(top), labels=bytes(top / "labels.csv"))

    packed = pack(source, bytes(tmp_path / "labels"), Settings("labels"))

    assert packed.card.classes == ("rex", "tom")
    assert packed.told.notes == []


def test_a_deep_tree_of_single_folders_has_no_classes(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"d/" * 100 + b"1.jpg": b"1"})

    packed = pack_small(top, tmp_path / "set")

    assert (packed.card.classes, packed.card.files, packed.told.notes) == ((), 1, [])


def test_a_table_in_the_folder_around_all_gives_columns(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"data/" + name: content for name, content in PETS.items()})
    (top / "data" / "metadata.csv").write_text("file_name,text\ncat/2.jpg,two\n")

    packed = pack_small(top, tmp_path / "set")

    assert (packed.card.classes, packed.card.columns) == (("cat", "dog"), ("text",))
    assert set(read_set(tmp_path / "set")) == {b"data/" + name for name in PETS}


@pytest.mark.parametrize("suffix", ["", ".tar"])
def test_a_table_that_cannot_be_read_is_no_sample_and_told(tmp_path: Path, suffix: str) -> None:
    top = make_tree(tmp_path / "top", {b"train/1.jpg": b"1", b"train/metadata.parquet": b"PAR1"})
    source = archive(top, tmp_path / f"a{suffix}") if suffix else top

    packed = pack_small(source, tmp_path / "set")

    assert read_set(tmp_path / "set") == {b"train/1.jpg": b"1"}
    assert packed.told.counts == {words.UNREAD_TABLE: 1}


def test_a_linked_folder_around_all_needs_a_word(tmp_path: Path) -> None:
    make_tree(tmp_path / "elsewhere", PETS)
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / "images").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(NoFolder, match=r"links to folders elsewhere: images; add --follow-links"):
        pack_small(tmp_path / "top", tmp_path / "set")


def test_linked_folders_of_classes_need_a_word(tmp_path: Path) -> None:
    make_tree(tmp_path / "elsewhere", {b"dogs/1.jpg": b"1"})
    top = make_tree(tmp_path / "top", {b"cat/2.jpg": b"2"})
    (top / "dog").symlink_to(tmp_path / "elsewhere" / "dogs")

    with pytest.raises(NoFolder, match=r"links to folders elsewhere: dog; add --follow-links"):
        pack_small(top, tmp_path / "set")
    packed = pack(choose_source(bytes(top), follow_folders=True), bytes(tmp_path / "set"), Settings("set"))

    assert packed.card.classes == ("cat", "dog")
    assert read_classes(tmp_path / "set") == {b"cat/2.jpg": "cat", b"dog/1.jpg": "dog"}


def test_a_link_to_a_folder_that_is_packed_anyway_is_told(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", PETS)
    (top / "latest").symlink_to("cat")

    packed = pack_small(top, tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
    assert packed.told.counts == {words.FOLDER_LINK: 1}


def test_a_tar_made_by_tar_itself_has_the_classes_too(tmp_path: Path) -> None:
    make_tree(tmp_path / "pets", PETS)
    subprocess.run(["tar", "cf", "pets.tar", "pets"], cwd=tmp_path, check=True)
    shutil.rmtree(tmp_path / "pets")

    packed = pack_small(tmp_path / "pets.tar", tmp_path / "set")

    assert packed.card.classes == ("cat", "dog")
