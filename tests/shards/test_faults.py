"""What may befall a packing: a death, a full disk, files that change under it. A clear word, or a whole data set."""

import io
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edges.places import FULL_PLACES, FullPlace, small_disk
from tests.shards.sets import make_many, make_tree, pack_small, plain_user, read_files, read_set, read_tree
from windlass_job.shards import told as words
from windlass_job.shards.extracting import ExtractFailed, extract, extract_archive
from windlass_job.shards.packing import Packing, Settings, plan_packing
from windlass_job.shards.sources import choose_source
from windlass_job.shards.streaming import ShardStream
from windlass_job.shards.writing import FolderLock, PackFailed

PACK_AND_DIE = """
import os, signal, sys
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source

left = [int(sys.argv[3])]

def count(*_):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

source = choose_source(os.fsencode(sys.argv[1]))
packed = pack(source, os.fsencode(sys.argv[2]), Settings("set", shard_bytes=100_000, workers=int(sys.argv[4])), count)
print(packed.kept_shards)
"""


def plan(top: Path, **settings: int) -> Packing:
    return plan_packing(choose_source(bytes(top)), Settings("set", **settings))  # type: ignore[arg-type]


def stream_all(packing: Packing, between: Callable[[], None] = lambda: None) -> tuple[ShardStream, bytes]:
    """The only shard, with something done after its first piece."""
    stream, content = packing.stream(packing.shards[0]), b""
    for piece in stream.iterate_pieces():
        content += piece
        between()
    return stream, content


def unpack(content: bytes, folder: Path) -> dict[bytes, bytes]:
    folder.mkdir()
    subprocess.run(["tar", "xf", "-", "-C", folder], input=content, check=True, capture_output=True)
    return read_tree(folder)


@pytest.mark.parametrize("workers", [1, 3])
def test_killed_at_any_point_and_started_again_it_makes_the_same_bytes(tmp_path: Path, workers: int) -> None:
    top = make_many(tmp_path / "top", 900)
    subprocess.run([sys.executable, "-c", PACK_AND_DIE, top, tmp_path / "calm", "0", "1"], check=True)

    for point in (1, 2, 3, 5):
        argv = [sys.executable, "-c", PACK_AND_DIE, str(top), str(tmp_path / "hit"), str(point), str(workers)]
        killed = subprocess.run(argv)
        assert killed.returncode == -9
        assert not (tmp_path / "hit" / "dataset.json").exists()
    argv[-2] = "0"
    kept = int(subprocess.run(argv, check=True, capture_output=True).stdout)

    assert kept > 0
    assert read_files(tmp_path / "hit") == read_files(tmp_path / "calm")


def test_finished_shards_are_not_kept_when_their_files_changed(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 60), tmp_path / "set"
    pack_small(top, target)
    (target / "dataset.json").unlink()  # as if killed right before the end
    (top / "class_0" / "00000.bin").write_bytes(b"other")

    packed = pack_small(top, target)

    assert 0 < packed.kept_shards < len(packed.card.shards)
    assert read_set(target) == read_tree(top)


def test_a_damaged_leftover_is_not_kept(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 60), tmp_path / "set"
    pack_small(top, target)
    whole = read_files(target)
    (target / "dataset.json").unlink()
    with (target / "shard-00000.tar").open("ab") as file:
        file.truncate(5000)
    index = bytearray(whole["shard-00001.idx"])
    index[-9] ^= 1
    (target / "shard-00001.idx").write_bytes(index)

    packed = pack_small(top, target)

    assert packed.kept_shards == len(packed.card.shards) - 2
    assert read_files(target) == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_a_disk_that_fills_up_is_told_and_nothing_partial_is_left(tmp_path: Path, workers: int) -> None:
    top, target = make_many(tmp_path / "top", 200), tmp_path / "set"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # bytes a file may have

    argv = [sys.executable, "-c", PACK_AND_DIE, str(top), str(target), "0", str(workers)]
    tried = subprocess.run(argv, capture_output=True, text=True, preexec_fn=limit)

    assert tried.returncode == 1
    assert "PackFailed" in tried.stderr
    assert "no space is left" in tried.stderr
    assert not target.exists()
    pack_small(top, target)
    assert read_set(target) == read_tree(top)


@pytest.mark.parametrize("small", FULL_PLACES)
@pytest.mark.parametrize("is_archive", [False, True])
def test_a_disk_that_is_full_while_extracting_is_told_and_nothing_half_stays(
    tmp_path: Path, is_archive: bool, small: FullPlace
) -> None:
    top = make_tree(tmp_path / "top", {b"%03d.bin" % number: os.urandom(200_000) for number in range(40)})
    source = tmp_path / ("set.tar" if is_archive else "set")
    if is_archive:
        with tarfile.open(source, "w") as archive:
            archive.add(top, ".")
    else:
        pack_small(top, source)

    with small(tmp_path, size_kb=4000) as disk:
        with pytest.raises(ExtractFailed, match="no space is left in") as raised:
            (extract_archive if is_archive else extract)(bytes(source), bytes(disk / "out"))

        assert raised.value.is_full
        written = read_tree(disk / "out")
        assert 0 < len(written) < 40
        assert written.items() <= read_tree(top).items()


def test_an_extraction_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", {b"%03d.bin" % number: os.urandom(200_000) for number in range(8)})
    pack_small(top, tmp_path / "set")
    with small_disk(tmp_path, size_kb=3000) as disk:
        (disk / "filler").write_bytes(bytes(2_000_000))
        with pytest.raises(ExtractFailed):
            extract(bytes(tmp_path / "set"), bytes(disk / "out"))
        came = len(read_tree(disk / "out"))
        (disk / "filler").unlink()

        done = extract(bytes(tmp_path / "set"), bytes(disk / "out"))

        assert (done.kept, done.files) == (came, 8 - came)
        assert read_tree(disk / "out") == read_tree(top)


def test_too_little_space_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    with (tmp_path / "top" / "huge").open("wb") as file:
        file.truncate(1 << 42)

    with pytest.raises(PackFailed, match="MB free, and the shards need") as raised:
        pack_small(tmp_path / "top", tmp_path / "set")

    assert raised.value.is_full
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("size", [(1 << 33) - 1, 1 << 33, (1 << 33) + 1])
def test_a_file_larger_than_a_plain_header_can_say_has_its_size_before_it(tmp_path: Path, size: int) -> None:
    (tmp_path / "top").mkdir()
    with (tmp_path / "top" / "huge").open("wb") as file:
        file.truncate(size)  # takes no space
    packing = plan(tmp_path / "top")
    shard = packing.shards[0]

    first = bytes(next(packing.stream(shard).iterate_pieces()))

    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        found = archive.next()
    assert found is not None
    assert (found.name, found.size) == ("huge", size)
    assert shard.bytes == found.offset_data + size + -size % 512 + 1024


@pytest.mark.parametrize("target", ["top", "top/sub/set"])
def test_a_folder_is_not_packed_into_itself(tmp_path: Path, target: str) -> None:
    make_tree(tmp_path / "top", {b"a": b"1"})

    with pytest.raises(PackFailed, match="packed into themselves"):
        pack_small(tmp_path / "top", tmp_path / target)

    assert read_tree(tmp_path / "top") == {b"a": b"1"}


def test_two_do_not_pack_into_one_folder(tmp_path: Path) -> None:
    with FolderLock(bytes(tmp_path)), pytest.raises(PackFailed, match="somebody else"):
        FolderLock(bytes(tmp_path), patience_s=0.1)
    with FolderLock(bytes(tmp_path), patience_s=0):
        pass


def test_small_files_that_change_after_the_plan_are_packed_as_they_are_read(tmp_path: Path) -> None:
    top = make_tree(tmp_path / "top", dict.fromkeys((b"a", b"b", b"c", b"d", b"e"), b"before" * 100))
    packing = plan(top)
    (top / "a").write_bytes(b"shorter")
    (top / "b").write_bytes(b"longer" * 1000)
    (top / "c").unlink()
    (top / "d").unlink()
    os.mkfifo(top / "d")

    stream, content = stream_all(packing)

    expected = {b"a": b"shorter", b"b": b"longer" * 1000, b"e": b"before" * 100}
    assert unpack(content, tmp_path / "out") == expected
    assert packing.told.counts == {words.CHANGED: 2, words.UNREADABLE: 2}
    assert stream.about is not None
    assert (stream.about.files, stream.about.bytes) == (3, len(content))


@pytest.mark.parametrize("now", [100, 20 << 20])
def test_a_large_file_that_changes_while_it_is_read_leaves_a_whole_archive(tmp_path: Path, now: int) -> None:
    old = os.urandom(9 << 20)
    top = make_tree(tmp_path / "top", {b"a": b"1", b"large": old, b"z": b"2"})
    packing = plan(top)

    stream, content = stream_all(packing, lambda: os.truncate(top / "large", now))

    expected = old[:100] if now == 100 else old
    assert unpack(content, tmp_path / "out") == {b"a": b"1", b"large": expected, b"z": b"2"}
    assert packing.told.counts == {words.CHANGED: 1}
    assert stream.about is not None
    assert stream.about.files == 3


def test_what_changed_while_it_was_packed_is_packed_again_next_time(tmp_path: Path) -> None:
    top, target = make_tree(tmp_path / "top", {b"a": b"x" * 3000, b"b": b"y"}), tmp_path / "set"
    source = choose_source(bytes(top))
    pack_small(top, target)
    (top / "a").write_bytes(b"z" * 3000)
    changed = plan_packing(source, Settings("set"))
    os.utime(top / "a", ns=(1, 1))

    assert changed.files == 2
    packed = pack_small(top, target)

    assert packed.new_files == 1
    assert read_set(target) == read_tree(top)


def test_a_file_that_may_not_be_read_is_told_and_the_others_are_packed() -> None:
    with plain_user() as home:
        top = make_tree(home / "top", {b"a": b"1", b"secret": b"2"})
        (top / "secret").chmod(0)
        packed = pack_small(top, home / "set")
        found = read_set(home / "set")

    assert packed.told.counts == {words.UNREADABLE: 1}
    assert found == {b"a": b"1"}
