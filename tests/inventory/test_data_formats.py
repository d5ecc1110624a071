"""Few large files instead of many small ones, in the formats that the centres name."""

import random
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.formats.sets import need
from windlass.app.data.converting import convert
from windlass.formats import FORMATS
from windlass_job import data
from windlass_job.shards.folder import Folder
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source

COUNT = 20_000
pytestmark = pytest.mark.slow  # so many files take seconds to make


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 small files."""
    top = tmp_path_factory.mktemp("many")
    for label in range(20):
        (top / f"n{label:02}").mkdir()
        for number in range(COUNT // 20):
            content = b"%d of class %d\n" % (number, label) * (number % 9)
            (top / f"n{label:02}" / f"{number:05}.txt").write_bytes(content)
    return top


@pytest.fixture(scope="module")
def packed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packed") / "many"
    pack(choose_source(bytes(folder)), bytes(target), Settings("many"))
    return target


def list_contents(folder: Path) -> dict[bytes, tuple[int, int]]:
    """Size and checksum of every file."""
    found = {}
    for path in folder.glob("*/*"):
        content = path.read_bytes()
        found[bytes(path.relative_to(folder))] = (len(content), zlib.crc32(content))
    return found


def list_packed(folder: Path) -> dict[bytes, tuple[int, int]]:
    with Folder(bytes(folder)) as opened:
        contents = [(entry.name, opened.read(entry)) for entry in opened.iterate()]
    return {name: (len(content), zlib.crc32(content)) for name, content in contents}


def test_many_files_become_few_with_the_same_names_sizes_and_checksums(folder: Path, packed: Path) -> None:
    assert len(list(packed.iterdir())) <= 9
    assert list_packed(packed) == list_contents(folder)


FORMATS_OF_CENTRES = [
    pytest.param("tfrecord", id="CS-21-tfrecord"),
    pytest.param("lmdb", id="CS-21-lmdb", marks=pytest.mark.peers),
    pytest.param("hdf5", id="CA-23-hdf5", marks=pytest.mark.peers),
    pytest.param("webdataset", id="CA-16-webdataset"),
]


@pytest.mark.parametrize("format", FORMATS_OF_CENTRES)
def test_the_formats_that_centres_name_are_made_and_read_back_equal(
    format: str, folder: Path, packed: Path, tmp_path: Path
) -> None:
    need(FORMATS[format])

    convert(packed, tmp_path / "there", to=format)
    convert(tmp_path / "there", tmp_path / "back", to="windlass")

    files = list((tmp_path / "there").iterdir()) if FORMATS[format].is_folder else [tmp_path / "there"]
    assert len(files) <= 9
    assert list_packed(tmp_path / "back") == list_contents(folder)


def test_tar_itself_unpacks_what_was_packed(folder: Path, packed: Path, tmp_path: Path) -> None:
    for shard in packed.glob("*.tar"):
        subprocess.run(["tar", "xf", shard, "-C", tmp_path], check=True)

    assert list_contents(tmp_path) == list_contents(folder)


@pytest.mark.parametrize("is_text", [True, False])
def test_files_are_squeezed_only_where_that_helps(is_text: bool, tmp_path: Path) -> None:
    """And come back as they were."""
    chance = random.Random(3)
    (tmp_path / "a" / "x").mkdir(parents=True)
    (tmp_path / "a" / "y").mkdir()
    for number in range(60):
        content = b"the same words again and again\n" * 400 if is_text else chance.randbytes(9000)
        (tmp_path / "a" / "xy"[number % 2] / f"{number}.txt").write_bytes(content)

    pack(choose_source(bytes(tmp_path / "a")), bytes(tmp_path / "b"), Settings("b", compress=True))
    convert(tmp_path / "b", tmp_path / "back", to="windlass")

    with Folder(bytes(tmp_path / "b")) as opened:
        assert all(entry.name.endswith(b".gz") == is_text for entry in opened.iterate())
    assert list_packed(tmp_path / "back") == list_contents(tmp_path / "a")


def test_records_and_indexes_lie_as_dali_wants_them(tmp_path: Path) -> None:
    """CS-26: a folder of records and one of indexes for each split; DALI takes two lists of files."""
    for split in ("train", "validation"):
        (tmp_path / "a" / split / "cat").mkdir(parents=True)
        for number in range(30):
            (tmp_path / "a" / split / "cat" / f"{number}.jpg").write_bytes(b"%d" % number * 99)
        pack(choose_source(bytes(tmp_path / "a" / split)), bytes(tmp_path / split), Settings(split))
        convert(tmp_path / split, tmp_path / "records" / split, to="tfrecord")
        files, indexes = data.find_tfrecords(str(tmp_path / "records" / split))

        for file, index in zip(files, indexes, strict=True):
            places = [tuple(map(int, line.split())) for line in Path(index).read_text().splitlines()]
            content = Path(file).read_bytes()
            assert len(places) == 30
            assert all(int.from_bytes(content[at : at + 8], "little") == size - 16 for at, size in places)
