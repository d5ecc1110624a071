"""What a node cannot lay out is told whatever it is called, and what it is told to hold is counted before."""

import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.job.harness import Job
from tests.job.packed import write_packed
from tests.job.test_staging import want
from windlass_job.staging.choosing import CannotExtract, Want, choose, find_room
from windlass_job.staging.keeping import LONGEST_LINE, make_line
from windlass_job.staging.sources import NotThere, look
from windlass_job.staging.unpacking import unpack

FREE = {"path": "/scratch", "free": 10**9, "is_memory": False}
MEMORY = {"path": "/dev/shm", "free": 10**8, "is_memory": True}
LIMITS = (10e9, 10e9)


def report(root: dict[str, object]) -> dict[str, object]:
    return {"roots": [root], "shm": MEMORY, "memory_left": 4 * 10**8}


def test_a_damaged_archive_of_long_foreign_names_ends_the_job(make_job: Callable[..., Job], tmp_path: Path) -> None:
    source = tmp_path / "set.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for number in range(8):
            archive.writestr(f"{number}-{'名前' * 30}.jpg", os.urandom(3000))
    content = bytearray(source.read_bytes())
    for start in range(1000, 24_000, 1500):
        content[start] ^= 0xFF
    source.write_bytes(content)
    job = make_job(want(extract=True), source=source)

    code = job.run("bash", "-c", "echo started")

    assert code != 0
    assert "started" not in job.printed
    assert "too long to be told" not in job.log
    assert "data.set: it cannot be laid out" in job.log


def test_a_sentence_is_cut_where_srun_would_cut_it_and_a_name_is_not() -> None:
    line = make_line({"at": "problem", "name": "set", "text": "名" * 300, "node": 7})

    assert line is not None
    assert 600 < len(line) <= LONGEST_LINE
    assert make_line({"at": "problem", "name": "名" * 300, "text": "x", "node": 7}) is None


def test_two_files_of_one_name_are_not_one_in_silence(make_job: Callable[..., Job], tmp_path: Path) -> None:
    write_packed(tmp_path / "shared", {"a/1": b"first", "b/1": b"other"}, shards=1)
    for path in (tmp_path / "shared").iterdir():
        content = path.read_bytes().replace(b"b/1", b"a/1")
        path.write_bytes(content)
    _mend_sums(tmp_path / "shared")
    job = make_job(want(extract=True), source=tmp_path / "shared")

    code = job.run("bash", "-c", "echo started")

    assert code != 0
    assert "started" not in job.printed
    assert "1 names come more than once with other content" in job.log


def test_a_file_whose_name_no_node_takes_is_not_left_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("n" * 1000, b"x")

    with pytest.raises(OSError, match="1 name too long for this file system"):
        unpack(bytes(tmp_path / "set.zip"), bytes(tmp_path / "node"), lambda: False)


def _mend_sums(folder: Path) -> None:
    """As if it had been packed with that name."""
    import zlib

    from windlass_job.shards.card import load_card, save_card
    from windlass_job.shards.index import IndexWriter
    from windlass_job.shards.tarring import BLOCK

    index = IndexWriter()
    index.add(b"a/1", BLOCK, 5, zlib.crc32(b"first"), 0)
    index.add(b"a/1", 3 * BLOCK, 5, zlib.crc32(b"other"), 0)
    card = load_card(os.fsencode(folder))
    shard = card.shards[0]
    shard.index_crc = index.write(os.fsencode(folder / "shard-00000.idx"), shard.bytes)
    save_card(card, os.fsencode(folder))


def test_links_out_of_a_copied_folder_still_lead_there(make_job: Callable[..., Job], tmp_path: Path) -> None:
    top = tmp_path / "shared" / "set"
    (top / "inner").mkdir(parents=True)
    (tmp_path / "shared" / "beside").write_text("beside")
    (top / "file").write_text("inside")
    (top / "inner" / "out").symlink_to("../../beside")
    (top / "inner" / "back").symlink_to("../../set/file")
    (top / "inner" / "in").symlink_to("../file")
    job = make_job(want(), source=top)

    code = job.run("bash", "-c", 'cd "$WINDLASS_DATA_SET/inner" && cat out back in && readlink in')

    assert code == 0, job.log
    assert job.printed.split() == ["besideinsideinside../file"]


@pytest.mark.parametrize("ending", ["zip", "tar.gz"])
def test_room_is_asked_for_what_an_archive_unpacks_to(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"set.{ending}"
    (tmp_path / "large").write_bytes(bytes(300 << 20))
    if ending == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(tmp_path / "large", "large")
    else:
        with tarfile.open(path, "w:gz", compresslevel=1) as archive_:
            archive_.add(tmp_path / "large", "large")
    source = look(str(path), is_extracted=True)

    with pytest.raises(CannotExtract, match=r"needs 31\d\.\d MB, and /dev/shm has 100\.0 MB free"):
        choose(Want("set", "memory", True), source, find_room([report(FREE)]), LIMITS)
    assert choose(Want("set", "auto", True), source, find_room([report(FREE)]), LIMITS).place == "node"


def test_a_scratch_that_is_memory_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(1000))
    room = find_room([report(dict(MEMORY, path="/tmp"))])

    choice = choose(Want("set", "node", False), look(str(tmp_path / "file")), room, LIMITS)

    assert choice.note is not None
    assert "/tmp of the nodes is memory and no disk" in choice.note


def test_a_pipe_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(NotThere, match="a pipe or a device"):
        look(str(tmp_path / "pipe"))
