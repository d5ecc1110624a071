"""Small data sets in memory are read as memory; what is not there is not waited for page by page."""

import os
from pathlib import Path

import pytest

from tests.reading.sets import cut, make_files, write_set
from windlass_job.reading import mapping
from windlass_job.reading.shards import Shards

FILES = make_files(50)
MEMORY = Path("/dev/shm")


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY)


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(os.urandom(1 << 20) * 8)
    return path


def test_what_was_just_written_is_in_memory(large_file: Path) -> None:
    handle = _open(large_file)

    assert mapping.is_in_memory(handle, 8 << 20) or _cannot_say(large_file)

    os.close(handle)


def test_what_the_system_let_go_of_is_not(large_file: Path) -> None:
    handle = os.open(large_file, os.O_RDWR)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)

    if _keeps_all_in_memory(large_file):
        pytest.skip("this folder is kept in memory")
    assert not mapping.is_in_memory(handle, 8 << 20)
    assert mapping.map_shard(handle, 8 << 20) is None

    os.close(handle)


@pytest.mark.skipif(not MEMORY.is_dir(), reason="no file system in memory")
def test_a_set_in_memory_is_mapped_and_every_file_is_right() -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Shards(write_set(Path(folder), cut(FILES, 20))) as shards:
        assert [shards[number] for number in range(50)] == [file.content for file in FILES]
        assert shards.get_part(7)[4] is not None


def test_a_file_shorter_than_told_is_not_mapped(large_file: Path) -> None:
    handle = _open(large_file)

    assert mapping.map_shard(handle, 9 << 20) is None

    os.close(handle)


def test_reads_go_on_when_it_is_time_to_look_again(tmp_path: Path) -> None:
    with Shards(write_set(tmp_path / "set", cut(FILES, 20))) as shards:
        wanted = [file.content for file in FILES]
        for _ in range(mapping.READS_BETWEEN_LOOKS // 20 + 2):
            assert [shards[number] for number in range(20)] == wanted[:20]


def _keeps_all_in_memory(path: Path) -> bool:
    return mapping._find_file_system(path.stat().st_dev) not in mapping._OF_THIS_NODE - mapping._IN_MEMORY


def _cannot_say(path: Path) -> bool:
    """Some file systems do not tell what is in memory."""
    handle = _open(path)
    try:
        os.preadv(handle, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
