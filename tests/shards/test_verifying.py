"""A flipped bit is found wherever it is, and named."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shards.sets import make_many, make_tree, pack_small
from windlass_job.shards.folder import Folder
from windlass_job.shards.verifying import verify


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("verify")
    make_many(home / "top", 80)
    make_tree(home / "top", {b"n" * 140: b"long name", b"class_0/large": b"z" * (5 << 20)})
    pack_small(home / "top", home / "set")
    return home / "set"


def test_a_whole_set_has_no_damage_and_all_bytes_are_reported(packed: Path) -> None:
    seen = []

    assert verify(bytes(packed), lambda done, total: seen.append((done, total))) == []
    assert seen[-1][0] == seen[-1][1] == sum(path.stat().st_size for path in packed.glob("*.tar"))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_flipped_bit_is_found_and_the_file_named(packed: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(packed.glob("shard-*.tar"))))
    at = data.draw(st.integers(0, path.stat().st_size - 1))
    whole = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]))
    try:
        damages = verify(bytes(packed))
    finally:
        path.write_bytes(whole)

    assert [damage.shard for damage in damages] == [path.name]
    with Folder(bytes(packed)) as found:
        inside = [
            entry.name
            for entry in found.iterate()
            if found.card.shards[entry.shard].name == path.name and entry.offset <= at < entry.offset + entry.size
        ]
    if inside:
        assert damages[0].name == inside[0]
        assert "not those that were packed" in damages[0].problem


def test_a_missing_shard_a_short_one_and_a_damaged_index_are_told(tmp_path: Path) -> None:
    make_many(tmp_path / "top", 200)
    pack_small(tmp_path / "top", tmp_path / "set")
    (tmp_path / "set" / "shard-00000.tar").unlink()
    with (tmp_path / "set" / "shard-00001.tar").open("r+b") as file:
        file.truncate(3000)
    index = tmp_path / "set" / "shard-00002.idx"
    index.write_bytes(index.read_bytes()[:-8] + b"damaged!")
    (tmp_path / "set" / "shard-00003.idx").unlink()

    lines = [damage.make_line() for damage in verify(bytes(tmp_path / "set"))]

    assert lines[0] == "shard-00000.tar: it is missing"
    assert "shard-00001.tar: it has 3000 bytes" in lines[1]
    assert any("shard-00001.tar: class_" in line and "cut off" in line for line in lines)
    assert lines[-2] == "shard-00002.tar: its index is not the one that was written with it"
    assert "shard-00003.tar: its index cannot be read" in lines[-1]
