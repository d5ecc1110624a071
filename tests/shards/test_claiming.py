"""A folder that is not ours is not packed into, and of a data set nothing goes that somebody reads or that is
another."""

import os
from pathlib import Path

import pytest

from tests.shards.sets import make_many, pack_small, read_files, read_set, read_tree
from windlass_job.shards.card import is_same_set, list_others, load_card
from windlass_job.shards.claiming import InUse, find_objection
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sampling import sample
from windlass_job.shards.sources import choose_source
from windlass_job.shards.walking import NoFolder
from windlass_job.shards.writing import PackFailed


def test_archives_of_others_with_names_like_ours_are_left_alone(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 20), tmp_path / "wds"
    target.mkdir()
    for number in range(3):
        (target / f"shard-{number:05}.tar").write_bytes(b"somebody's %d" % number)
    before = read_files(target)

    with pytest.raises(PackFailed, match=r"files that Windlass did not make \(shard-00000.tar, ") as caught:
        pack_small(top, target)

    assert caught.value.is_refusal
    assert read_files(target) == before


def test_an_archive_put_beside_a_set_is_left_alone_too(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 200), tmp_path / "set"
    pack_small(top, target)
    (target / "shard-99999.tar").write_bytes(b"mine")
    (target / "notes.txt").write_bytes(b"mine too")

    assert list_others(bytes(target)) == [b"notes.txt", b"shard-99999.tar"]
    with pytest.raises(PackFailed, match=r"shard-99999.tar"):
        pack_small(top, target, anew=True)

    (target / "shard-99999.tar").rename(target / "mine.tar")
    pack_small(top, target, anew=True)
    assert (target / "mine.tar").read_bytes() == b"mine"
    assert (target / "notes.txt").read_bytes() == b"mine too"


def test_a_dataset_json_of_another_program_is_not_replaced(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 20), tmp_path / "other"
    target.mkdir()
    (target / "dataset.json").write_text('{"rows": 3}')

    assert "dataset.json" in (find_objection(bytes(target)) or "")
    with pytest.raises(PackFailed, match="did not make"):
        pack_small(top, target)


def test_most_of_a_set_from_elsewhere_is_not_buried_unasked(tmp_path: Path) -> None:
    one, target = make_many(tmp_path / "one", 30), tmp_path / "set"
    other = make_many(tmp_path / "other", 40, size=500)
    pack_small(one, target)
    before = read_files(target)

    with pytest.raises(PackFailed, match="30 of its 30 files would be replaced or removed") as caught:
        pack_small(other, target)

    assert caught.value.option == "--anew"
    assert read_set(target) == read_tree(one)
    assert {name: content for name, content in read_files(target).items() if name in before} == before
    pack_small(other, target, anew=True)
    assert read_set(target) == read_tree(other)


def test_a_source_that_was_moved_is_the_same_data_set(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 30), tmp_path / "set"
    pack_small(top, target)
    top.rename(tmp_path / "moved")

    assert pack_small(tmp_path / "moved", target).new_files == 0


@pytest.mark.parametrize("damage", ["gone", "cut", "no index"])
def test_a_set_that_is_not_whole_is_not_called_unchanged(tmp_path: Path, damage: str) -> None:
    top, target = make_many(tmp_path / "top", 100), tmp_path / "set"
    pack_small(top, target)
    shard = target / "shard-00001.tar"
    if damage == "gone":
        shard.unlink()
    elif damage == "cut":
        os.truncate(shard, 1000)
    else:
        shard.with_suffix(".idx").unlink()

    with pytest.raises(PackFailed, match=r"not whole, and cannot be added to: .*shard-00001") as caught:
        pack_small(top, target)

    assert caught.value.option == "--anew"
    pack_small(top, target, anew=True)
    assert read_set(target) == read_tree(top)


def test_what_is_read_is_not_packed_anew(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 100), tmp_path / "set"
    pack_small(top, target)
    before = read_files(target)

    with pytest.raises(InUse, match="set is read by train-abc"):
        pack(choose_source(bytes(top)), bytes(target), Settings("set", anew=True), readers=lambda: ["train-abc"])

    assert read_files(target) == before
    pack(choose_source(bytes(top)), bytes(target), Settings("set"), readers=lambda: ["train-abc"])


def test_a_sample_leaves_folders_beside_it_alone_and_nothing_behind(tmp_path: Path) -> None:
    top, packed = make_many(tmp_path / "top", 30), tmp_path / "set"
    pack_small(top, packed)
    (tmp_path / "few.part").mkdir()
    (tmp_path / "few.part/mine.txt").write_text("mine")

    sample(bytes(packed), bytes(tmp_path / "few"), 2, 0, packed=True)
    shard = packed / "shard-00000.tar"
    content = bytearray(shard.read_bytes())
    content[600] ^= 1
    shard.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        sample(bytes(packed), bytes(tmp_path / "all"), 100, 0, packed=True)

    assert (tmp_path / "few.part/mine.txt").read_text() == "mine"
    assert len(read_set(tmp_path / "few")) == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few", "few.part", "set", "top"]


def test_a_name_alone_makes_no_same_set(tmp_path: Path) -> None:
    one, other = make_many(tmp_path / "one", 30), make_many(tmp_path / "other", 40, size=500)
    pack_small(one, tmp_path / "a")
    pack_small(other, tmp_path / "b")
    first, second = load_card(bytes(tmp_path / "a")), load_card(bytes(tmp_path / "b"))

    assert first.name == second.name
    assert not is_same_set(first, second)
    (one / "class_0/more.bin").write_bytes(b"more")
    pack_small(one, tmp_path / "a")
    assert is_same_set(first, load_card(bytes(tmp_path / "a")))


def test_a_pipe_or_a_device_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tar")
    for path in (b"/dev/zero", bytes(tmp_path / "pipe.tar")):
        for kind in ("auto", "list", "tar"):
            with pytest.raises(NoFolder, match="a pipe or a device"):
                choose_source(path, kind)
    with pytest.raises(NoFolder, match="a pipe or a device"):
        choose_source(bytes(make_many(tmp_path / "top", 3)), labels=bytes(tmp_path / "pipe.tar"))
