"""A small part of a data set: some of each class, the same for the same seed, and never outside of the target."""

from pathlib import Path

import pytest

from tests.shards.sets import make_many, pack_small, read_set, read_tree
from windlass_job.shards.card import load_card
from windlass_job.shards.folder import FileDamaged, Folder
from windlass_job.shards.sampling import choose, sample
from windlass_job.shards.verifying import verify


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    pack_small(make_many(tmp_path / "source", 60), tmp_path / "packed")
    return tmp_path / "packed"


def test_so_many_of_each_class(packed: Path, tmp_path: Path) -> None:
    files, size = sample(bytes(packed), bytes(tmp_path / "few"), 3, 0)

    found = read_tree(tmp_path / "few")
    assert (files, size) == (15, sum(map(len, found.values())))
    assert {name.split(b"/")[0] for name in found} == {b"class_%d" % number for number in range(5)}
    assert found.items() <= read_set(packed).items()


def test_the_seed_decides(packed: Path) -> None:
    def names(seed: int) -> list[bytes]:
        with Folder(bytes(packed)) as folder:
            return [entry.name for entry in choose(folder, 3, seed)]

    assert names(1) == names(1)
    assert len({tuple(names(seed)) for seed in range(5)}) > 1


def test_every_file_has_its_chance(packed: Path) -> None:
    with Folder(bytes(packed)) as folder:
        seen = {entry.name for seed in range(60) for entry in choose(folder, 3, seed)}

    assert seen == set(read_set(packed))


def test_a_packed_sample_is_a_data_set_with_the_same_classes(packed: Path, tmp_path: Path) -> None:
    sample(bytes(packed), bytes(tmp_path / "few"), 2, 7, packed=True)

    card, whole = load_card(bytes(tmp_path / "few")), load_card(bytes(packed))
    assert verify(bytes(tmp_path / "few")) == []
    assert (card.files, card.classes) == (10, whole.classes)
    assert read_set(tmp_path / "few").items() <= read_set(packed).items()
    with Folder(bytes(tmp_path / "few")) as few:
        assert all(few.get_class(entry) == entry.name.split(b"/")[0].decode() for entry in few.iterate())
    assert not (tmp_path / "few.part").exists()


def test_more_than_there_are_is_all_of_them(packed: Path, tmp_path: Path) -> None:
    assert sample(bytes(packed), bytes(tmp_path / "all"), 1000, 0)[0] == 60
    assert read_tree(tmp_path / "all") == read_set(packed)


def test_files_without_classes_are_one_class(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    for number in range(9):
        (tmp_path / "flat" / f"{number}.txt").write_text(str(number))
    pack_small(tmp_path / "flat", tmp_path / "packed")

    assert sample(bytes(tmp_path / "packed"), bytes(tmp_path / "few"), 4, 0)[0] == 4


def test_what_was_compressed_comes_out_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for number in range(9):
        (tmp_path / "texts" / f"{number}.txt").write_text(f"{number} and again " * 400)
    pack_small(tmp_path / "texts", tmp_path / "packed", compress=True)

    sample(bytes(tmp_path / "packed"), bytes(tmp_path / "few"), 4, 0)

    assert read_tree(tmp_path / "few").items() <= read_tree(tmp_path / "texts").items()


def test_a_damaged_file_is_not_handed_on(packed: Path, tmp_path: Path) -> None:
    shard = next(packed.glob("*.tar"))
    content = bytearray(shard.read_bytes())
    content[600] ^= 1
    shard.write_bytes(content)

    with pytest.raises(FileDamaged, match="is damaged"):
        sample(bytes(packed), bytes(tmp_path / "few"), 1000, 0, packed=True)

    assert not (tmp_path / "few").exists()
