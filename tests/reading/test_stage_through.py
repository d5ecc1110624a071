"""A data set that is still being copied to the node: what is there is read there, the rest where it comes from."""

import os
import shutil
from pathlib import Path

import pytest

from tests.reading.sets import cut, make_files, stage, write_set
from tests.waiting import wait_until
from windlass_job.reading.shards import ReadFailed, Shards

FILES = make_files(90)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return write_set(tmp_path / "shared", cut(FILES, 30))


@pytest.fixture
def local(tmp_path: Path, origin: Path) -> Path:
    return stage(origin, tmp_path / "node")


def bring(origin: Path, local: Path, number: int) -> Path:
    """A shard arrives, as a copier leaves it: by a rename."""
    name = f"shard-{number:05}.tar"
    shutil.copy(origin / name, local / "aside")
    (local / "aside").rename(local / name)
    return local / name


def is_read_from(shards: Shards, shard: int, path: Path) -> bool:
    return os.path.samestat(os.fstat(shards._handles.get(shard)), path.stat())


def test_all_can_be_read_before_anything_has_arrived(local: Path) -> None:
    with Shards(local) as shards:
        assert list(shards) == [file.content for file in FILES]
        assert shards._handles.list_away() == [0, 1, 2]


def test_it_changes_over_when_the_shards_arrive(origin: Path, local: Path) -> None:
    with Shards(local) as shards:
        assert shards[0] == FILES[0].content
        arrived = bring(origin, local, 0)
        wait_until(lambda: shards._handles.list_away() == [], "the change to the node's copy")

        shutil.rmtree(origin)

        assert is_read_from(shards, 0, arrived)
        assert [shards[number] for number in range(30)] == [file.content for file in FILES[:30]]
        assert [bytes(one) for one in shards.read_many([4, 2])] == [FILES[4].content, FILES[2].content]


def test_a_forked_child_changes_over_too(origin: Path, local: Path) -> None:
    with Shards(local) as shards:
        assert shards[0] == FILES[0].content
        bring(origin, local, 0)
        child = os.fork()
        if child == 0:
            is_right = shards[0] == FILES[0].content and is_read_from(shards, 0, local / "shard-00000.tar")
            os._exit(7 if is_right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_node_copy_that_was_cut_is_passed_over(origin: Path, local: Path) -> None:
    os.truncate(bring(origin, local, 1), 3000)

    with Shards(local) as shards:
        assert list(shards) == [file.content for file in FILES]


def test_a_node_copy_that_is_cut_while_it_is_read_is_left_for_its_origin(origin: Path, local: Path) -> None:
    arrived = bring(origin, local, 1)
    with Shards(local) as shards:
        assert shards[59] == FILES[59].content
        os.truncate(arrived, 3000)
        assert shards[59] == FILES[59].content
        assert [bytes(one) for one in shards.read_many([58, 31])] == [FILES[58].content, FILES[31].content]


def test_a_flipped_bit_on_the_node_is_read_at_the_origin(
    origin: Path, local: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arrived = bring(origin, local, 0)
    with Shards(local, check=True) as shards:
        content = bytearray(arrived.read_bytes())
        content[shards.get_index(0).offsets[5]] ^= 1
        arrived.write_bytes(content)
        assert [shards[number] for number in range(30)] == [file.content for file in FILES[:30]]
    assert "shard-00000.tar is damaged: reading it from" in capfd.readouterr().err


def test_a_node_copy_that_is_removed_does_not_matter(origin: Path, local: Path) -> None:
    arrived = bring(origin, local, 0)
    with Shards(local) as shards:
        assert shards[0] == FILES[0].content
        arrived.unlink()
        assert shards[1] == FILES[1].content
    with Shards(local) as shards:
        assert shards[1] == FILES[1].content


def test_without_copy_and_origin_it_is_an_error_that_names_the_origin(origin: Path, local: Path) -> None:
    shutil.rmtree(origin)
    with Shards(local) as shards, pytest.raises(ReadFailed, match=r"sample 40 \(part/00040\.bin"):
        shards[40]
