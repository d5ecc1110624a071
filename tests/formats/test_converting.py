"""`convert` as a whole: any format into any other, and what happens when it is disturbed."""

import importlib.util
import itertools
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.edges.places import FULL_PLACES, FullPlace, small_disk
from tests.formats.sets import CLASSES, JPEG, SAMPLES, load, make_source, mark, need, save
from windlass.app.data.converting import ConvertOptions, convert, recognise
from windlass.edges.aside import write_aside
from windlass.edges.extras import make_extra_hint
from windlass.errors import ConvertError, DiskFull, LibraryMissing, UsageError
from windlass.formats import FORMATS
from windlass.formats.form import Sample
from windlass_job.shards.folder import Folder

PAIRS = [pytest.param(a, b, marks=mark(FORMATS[a]) + mark(FORMATS[b])) for a, b in itertools.permutations(FORMATS, 2)]


@pytest.mark.parametrize(("start", "end"), PAIRS)
def test_every_format_becomes_every_other_and_ours_again(start: str, end: str, tmp_path: Path) -> None:
    need(FORMATS[start])
    need(FORMATS[end])
    source = save(FORMATS[start], tmp_path, make_source())

    there = convert(source, tmp_path / "there", to=end)
    convert(tmp_path / "there", tmp_path / "back", to="windlass")

    with Folder(bytes(tmp_path / "back")) as folder:
        found = {entry.name: (folder.read(entry), folder.get_class(entry)) for entry in folder.iterate()}
    names = {one.name: (one.content, None if one.label is None else CLASSES[one.label]) for one in SAMPLES}
    assert {name: content for name, (content, _) in found.items()} == {name: one[0] for name, one in names.items()}
    if "squashfs" not in (start, end):
        assert found == names
    assert (there.files, there.source_format, there.format) == (len(SAMPLES), start, end)
    assert there.bytes == sum(len(one.content) for one in SAMPLES)


@pytest.mark.peers
def test_what_is_lost_is_told(tmp_path: Path) -> None:
    need(FORMATS["squashfs"])
    source = save(FORMATS["zip"], tmp_path, make_source())

    done = convert(source, tmp_path / "image", to="squashfs")

    assert "columns are left out: a file system has no place for them (2 times)" in done.notices


def test_the_card_tells_where_it_came_from(tmp_path: Path) -> None:
    source = save(FORMATS["zip"], tmp_path, make_source())

    convert(source, tmp_path / "ours", to="windlass", options=ConvertOptions(name="pets"))

    with Folder(bytes(tmp_path / "ours")) as folder:
        assert folder.card.name == "pets"
        assert folder.card.about == {"source": "set.zip", "made": "converted from zip"}
        assert folder.card.columns == ("boxes", "caption", "ok", "score", "width")
        assert folder.card.bytes == sum(len(one.content) for one in SAMPLES)


def test_class_numbers_survive_where_only_numbers_are_known(tmp_path: Path) -> None:
    """A set that begins with class 7 must not call it 0."""
    samples = [Sample(b"%d.jpg" % at, JPEG, label) for at, label in enumerate([7, 2, 7])]
    source = save(FORMATS["tfrecord"], tmp_path, make_source(samples, classes=()))

    convert(source, tmp_path / "ours", to="windlass")

    with Folder(bytes(tmp_path / "ours")) as folder:
        assert list(folder.get_index(0).classes) == [7, 2, 7]
        assert folder.card.classes == tuple("01234567")


def test_a_zip_of_folders_has_the_classes_that_packing_the_folder_would_give(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("train/dog/1.jpg", "train/ant/2.jpg", "val/dog/3.jpg"):
            archive.writestr(name, JPEG)

    done = convert(tmp_path / "a.zip", tmp_path / "ours", to="windlass")

    with Folder(bytes(tmp_path / "ours")) as folder:
        assert folder.card.classes == ("ant", "dog")
        assert [folder.get_class(entry) for entry in folder.iterate()] == ["dog", "ant", "dog"]
    assert done.notices == ("the names of 2 folders were taken for classes",)


def test_a_zip_with_one_folder_around_everything_is_that_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("pets/cat/1.jpg", "pets/dog/2.jpg", "pets/.git/config"):
            archive.writestr(name, JPEG)

    done = convert(tmp_path / "a.zip", tmp_path / "ours", to="windlass")

    assert done.classes == 2
    with Folder(bytes(tmp_path / "ours")) as folder:
        labels = {entry.name: folder.get_class(entry) for entry in folder.iterate()}
    assert labels == {b"pets/cat/1.jpg": "cat", b"pets/dog/2.jpg": "dog", b"pets/.git/config": None}


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    samples = [Sample(b"%d.jpg" % at, JPEG) for at in range(500)]
    source = save(FORMATS["zip"], tmp_path, make_source(samples))
    told: list[tuple[int, int, int | None, int | None]] = []

    convert(source, tmp_path / "ours", to="windlass", progress=lambda *now: told.append(now))

    whole = 500 * len(JPEG)
    assert told[-1] == (500, whole, 500, whole)
    assert len(told) > 3
    assert told == sorted(told)


def list_files(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_target_that_is_there_is_left_alone(tmp_path: Path) -> None:
    source = save(FORMATS["zip"], tmp_path, make_source())
    (tmp_path / "there").write_text("mine")

    with pytest.raises(ConvertError, match="is there already"):
        convert(source, tmp_path / "there", to="tfrecord")
    with pytest.raises(ConvertError, match="is no data set"):
        convert(source, tmp_path / "there", to="tfrecord", options=ConvertOptions(replace=True))

    assert (tmp_path / "there").read_text() == "mine"


@pytest.mark.parametrize("format", ["zip", "tfrecord"])
def test_replacing_puts_the_new_in_place_of_the_old(format: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, samples in ((first, SAMPLES), (second, SAMPLES[:2])):
        folder.mkdir()
        save(FORMATS["webdataset"], folder, make_source(samples))
    convert(first / "set.webdataset", tmp_path / "out", to=format)

    convert(second / "set.webdataset", tmp_path / "out", to=format, options=ConvertOptions(replace=True))

    assert len(load(FORMATS[format], tmp_path / "out", tmp_path / "scratch")[1]) == 2
    assert list_files(tmp_path) == ["first", "out", "scratch", "second"]


@pytest.mark.parametrize("inside", ["set.webdataset/out", "."])
def test_source_and_target_may_not_lie_in_one_another(inside: str, tmp_path: Path) -> None:
    source = save(FORMATS["webdataset"], tmp_path, make_source())

    with pytest.raises(ConvertError, match="lie in one another"):
        convert(source, tmp_path / inside, to="zip")


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    source = save(FORMATS["zip"], tmp_path, make_source())
    source.write_bytes(source.read_bytes().replace(JPEG[:200], JPEG[1:201]))

    with pytest.raises(ConvertError, match="cannot be read"):
        convert(source, tmp_path / "ours", to="windlass")

    assert list_files(tmp_path) == ["set.zip"]


SLOW_CONVERSION = """
import sys
from pathlib import Path
from windlass.app.data.converting import convert
def tell(files, *_):
    print(files, flush=True)
    sys.stdin.readline()
convert(Path(sys.argv[1]), Path(sys.argv[2]), to="windlass", progress=tell)
"""


def test_after_a_kill_the_same_command_makes_it_whole(tmp_path: Path) -> None:
    samples = [Sample(b"%d.jpg" % at, JPEG) for at in range(300)]
    source = save(FORMATS["zip"], tmp_path, make_source(samples))
    command = [sys.executable, "-c", SLOW_CONVERSION, str(source), str(tmp_path / "ours")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it is in the middle
        with pytest.raises(ConvertError, match="another process is writing"):
            convert(source, tmp_path / "ours", to="windlass")
        os.kill(process.pid, signal.SIGKILL)
    assert recognise(tmp_path / "ours") is None

    convert(source, tmp_path / "ours", to="windlass")

    with Folder(bytes(tmp_path / "ours")) as folder:
        assert [folder.read(entry) for entry in folder.iterate()] == [JPEG] * 300
    assert list_files(tmp_path) == ["ours", "set.zip"]


FOLDERS_AND_FILES = [pytest.param(one, marks=mark(FORMATS[one])) for one in FORMATS]


@pytest.mark.parametrize("small", FULL_PLACES)
@pytest.mark.parametrize("format", FOLDERS_AND_FILES)
def test_a_full_disk_is_told_and_leaves_nothing(format: str, tmp_path: Path, small: FullPlace) -> None:
    need(FORMATS[format])
    samples = [Sample(b"a/%d.jpg" % at, os.urandom(200_000), 0) for at in range(200)]
    source = save(FORMATS["webdataset"], tmp_path, make_source(samples))  # its size is not known beforehand

    with small(tmp_path, size_kb=24_000) as disk:
        with pytest.raises(DiskFull):
            convert(source, disk / "out", to=format)
        assert list_files(disk) == []


def test_a_disk_that_is_too_small_is_seen_before(tmp_path: Path) -> None:
    source = save(FORMATS["zip"], tmp_path, make_source([Sample(b"a.jpg", os.urandom(2_000_000), 0)]))

    with small_disk(tmp_path, size_kb=1000) as disk, pytest.raises(DiskFull, match="would take 2,000,000 bytes"):
        convert(source, disk / "out", to="windlass")


def test_two_at_once_are_kept_apart(tmp_path: Path) -> None:
    source = save(FORMATS["zip"], tmp_path, make_source())

    with pytest.raises(ConvertError, match="another process"), write_aside(tmp_path / "ours"):
        convert(source, tmp_path / "ours", to="windlass")


def test_what_is_of_no_format_is_told(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain" / "a.jpg").write_bytes(JPEG)
    (tmp_path / "file").write_bytes(b"")

    for name, words in (("plain", "looks like none"), ("empty", "is empty"), ("file", "is empty"), ("no", "not there")):
        with pytest.raises(ConvertError, match=words):
            convert(tmp_path / name, tmp_path / "out", to="zip")
    with pytest.raises(UsageError, match="there is no format 'rar'"):
        convert(tmp_path / "plain", tmp_path / "out", to="rar")
    with pytest.raises(UsageError, match="did you mean 'webdataset'"):
        convert(tmp_path / "plain", tmp_path / "out", to="webdatset")


def test_an_archive_without_files_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w"):
        pass

    with pytest.raises(ConvertError, match="holds no files"):
        convert(tmp_path / "a.zip", tmp_path / "out", to="windlass")

    assert list_files(tmp_path) == ["a.zip"]


def test_a_library_that_is_missing_comes_with_the_line_to_paste(tmp_path: Path) -> None:
    if importlib.util.find_spec("h5py") is not None:
        pytest.skip("it is installed here")
    source = save(FORMATS["zip"], tmp_path, make_source())

    with pytest.raises(LibraryMissing, match="hdf5 needs the Python library h5py") as caught:
        convert(source, tmp_path / "out", to="hdf5")

    assert caught.value.hint == make_extra_hint("hdf5")


def test_a_program_that_is_missing_comes_with_the_line_to_paste(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = save(FORMATS["zip"], tmp_path, make_source())
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(LibraryMissing, match="squashfs needs the program sqfstar") as caught:
        convert(source, tmp_path / "out", to="squashfs")

    assert caught.value.hint == "sudo apt-get install squashfs-tools"
