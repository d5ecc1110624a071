"""Files go in and come out the same; the same files make the same bytes; changes are appended."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.shards.sets import SMALL, make_many, make_tree, name_below, pack_small, read_files, read_set, read_tree
from tests.shards.test_walking import NAMES
from windlass_job.shards.card import load_card
from windlass_job.shards.cutting import LARGEST_SHARD, SMALLEST_SHARD, Batch, Cutter, choose_shard_bytes
from windlass_job.shards.folder import Folder
from windlass_job.shards.packing import Settings, pack, plan_packing
from windlass_job.shards.sources import choose_source

LONG = b"/".join([b"folder" * 20] * 8) + b"/" + b"n" * 250  # more than 1,000 bytes


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(NAMES, st.binary(max_size=3000), max_size=12))
def test_what_goes_in_comes_out_of_the_set_and_out_of_tar(files: dict[bytes, bytes]) -> None:
    with tempfile.TemporaryDirectory() as home:
        top, target, unpacked = Path(home) / "top", Path(home) / "set", Path(home) / "unpacked"
        top.mkdir()
        unpacked.mkdir()
        for name, content in files.items():
            try:
                make_tree(top, {name: content})
            except OSError:
                continue
        packed = pack_small(top, target, shard_bytes=4096)

        assert read_set(target) == read_tree(top)
        for shard in packed.card.shards:
            subprocess.run(["tar", "xf", target / shard.name, "-C", unpacked], check=True, capture_output=True)
        assert read_tree(unpacked) == read_tree(top)


@pytest.mark.parametrize("name", [b"new\nline", "Bär/Übung 猫.jpg".encode(), b"\xff\xfe not text", LONG, b" ", b"-rf"])
def test_odd_names_are_kept(tmp_path: Path, name: bytes) -> None:
    make_tree(tmp_path / "top", {name: b"content", b"plain": b""})
    pack_small(tmp_path / "top", tmp_path / "set")

    assert read_set(tmp_path / "set") == {name: b"content", b"plain": b""}


def test_the_same_files_make_the_same_bytes_with_any_number_of_processes(tmp_path: Path) -> None:
    make_many(tmp_path / "top", 300)
    for name, workers in (("one", 1), ("three", 3)):
        pack_small(tmp_path / "top", tmp_path / name, workers=workers)

    assert len(load_card(bytes(tmp_path / "one")).shards) > 5
    assert read_files(tmp_path / "one") == read_files(tmp_path / "three")


def test_a_stream_gives_the_bytes_that_a_disk_gets(tmp_path: Path) -> None:
    make_many(tmp_path / "top", 100)
    make_tree(tmp_path / "top", {b"class_1/large": os.urandom(9 << 20), b"empty": b""})
    pack_small(tmp_path / "top", tmp_path / "set")
    packing = plan_packing(choose_source(bytes(tmp_path / "top")), Settings("set", shard_bytes=64 << 10))

    streamed, shards = {}, []
    for shard in reversed(packing.shards):
        stream = packing.stream(shard)
        streamed[shard.name] = b"".join(bytes(piece) for piece in stream.iterate_pieces())
        streamed[shard.name.replace(".tar", ".idx")] = stream.index_bytes
        assert len(streamed[shard.name]) == shard.bytes
        shards.append(stream.about)
    card = packing.make_card(shards)  # type: ignore[arg-type]

    found = read_files(tmp_path / "set")
    assert card.as_json() == load_card(bytes(tmp_path / "set")).as_json()
    found.pop("dataset.json")
    assert streamed == found


def test_a_shard_is_identified_by_what_it_holds(tmp_path: Path) -> None:
    make_many(tmp_path / "top", 30)
    source = choose_source(bytes(tmp_path / "top"))

    def identify() -> list[str]:
        packing = plan_packing(source, Settings("set", shard_bytes=20_000))
        return [packing.identify(shard) for shard in packing.shards]

    before = identify()
    assert identify() == before
    os.utime(tmp_path / "top" / "class_0" / "00000.bin", ns=(5, 5))
    after = identify()
    assert after[0] != before[0]
    assert after[1:] == before[1:]


def test_classes_are_the_first_folders_and_below_splits_the_second(tmp_path: Path) -> None:
    make_tree(tmp_path / "plain", {b"dog/1": b"", b"cat/x/2": b"", b"top": b""})
    make_tree(tmp_path / "split", {b"train/dog/1": b"", b"train/cat/2": b"", b"val/cat/3": b"", b"val/list": b""})
    for name in ("plain", "split"):
        pack_small(tmp_path / name, tmp_path / f"{name}-set")

    def list_classes(name: str) -> dict[bytes, str | None]:
        with Folder(bytes(tmp_path / f"{name}-set")) as found:
            assert found.card.classes == ("cat", "dog")
            return {entry.name: found.get_class(entry) for entry in found.iterate()}

    assert list_classes("plain") == {b"dog/1": "dog", b"cat/x/2": "cat", b"top": None}
    assert list_classes("split") == {
        b"train/dog/1": "dog",
        b"train/cat/2": "cat",
        b"val/cat/3": "cat",
        b"val/list": None,
    }


def test_changes_are_appended_and_what_is_gone_is_dead(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 60), tmp_path / "set"
    pack_small(top, target)
    before = read_files(target)
    (top / "class_1" / "00001.bin").write_bytes(b"changed")
    (top / "class_2" / "00002.bin").unlink()
    make_tree(top, {b"a new class/x": b"new"})
    touched = top / "class_3" / "00003.bin"
    os.utime(touched, ns=(7, 7))  # its content is the same

    packed = pack_small(top, target)

    assert read_set(target) == read_tree(top)
    assert (packed.new_files, packed.dead_files, packed.new_shards) == (2, 2, 1)
    assert packed.card.classes == ("class_0", "class_1", "class_2", "class_3", "class_4", "a new class")
    assert packed.card.bytes == sum(len(content) for content in read_tree(top).values())
    after = read_files(target)
    assert {name: after[name] for name in before if name != "dataset.json"} == {
        name: content for name, content in before.items() if name != "dataset.json"
    }


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_what_is_packed_into_a_set_may_be_read_by_those_who_may_read_it(tmp_path: Path, mode: int, anew: bool) -> None:
    make_tree(tmp_path / "top", {b"a": b"1", b"b": b"2"})
    pack_small(tmp_path / "top", tmp_path / "set")
    for path in (tmp_path / "set").iterdir():
        path.chmod(mode)
    (tmp_path / "top" / "a").write_bytes(b"another")
    before = os.umask(0o022 if mode == 0o600 else 0o077)
    try:
        packed = pack_small(tmp_path / "top", tmp_path / "set", anew=anew)
    finally:
        os.umask(before)

    assert packed.new_files
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "set").iterdir()} == {mode}


def test_a_file_with_another_name_is_new_and_the_old_name_is_dead(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 20), tmp_path / "set"
    pack_small(top, target)
    (top / "class_0" / "00000.bin").rename(top / "class_4" / "moved.bin")

    packed = pack_small(top, target)

    assert (packed.new_files, packed.dead_files) == (1, 1)
    assert read_set(target) == read_tree(top)


def test_nothing_changed_writes_nothing(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 20), tmp_path / "set"
    pack_small(top, target)
    before = {path.name: path.stat().st_mtime_ns for path in target.iterdir()}

    packed = pack_small(top, target)

    assert (packed.new_files, packed.dead_files) == (0, 0)
    assert {path.name: path.stat().st_mtime_ns for path in target.iterdir()} == before


def test_words_for_the_card_are_written_where_no_file_has_changed(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 20), tmp_path / "set"
    old = pack_small(top, target, about={"licence": "CC0"}).card
    shards = {path.name: path.stat().st_mtime_ns for path in target.glob("shard-*")}

    packed = pack_small(top, target, shard_bytes=0, about={"licence": "MIT", "description": "of cats"})

    assert (packed.new_files, packed.dead_files) == (0, 0)
    assert load_card(os.fsencode(target)).about == {**old.about, "licence": "MIT", "description": "of cats"}
    assert {path.name: path.stat().st_mtime_ns for path in target.glob("shard-*")} == shards
    assert read_set(target) == read_tree(top)


def test_many_deltas_end_with_the_advice_to_pack_anew_and_that_removes_the_dead(tmp_path: Path) -> None:
    top, target = make_many(tmp_path / "top", 20), tmp_path / "set"
    pack_small(top, target)
    for turn in range(3):
        for number in range(4):
            (top / f"class_{number}" / f"{number:05}.bin").write_bytes(b"turn %d" % turn)
        packed = pack_small(top, target)
    assert packed.advice is not None
    assert "pack it anew" in packed.advice

    packed = pack_small(top, target, anew=True)

    assert packed.advice is None
    assert read_set(target) == read_tree(top)
    assert not any(shard.dead for shard in packed.card.shards)
    assert len(list(target.iterdir())) == 1 + 2 * len(packed.card.shards)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from([b"a", b"b/c", b"b/d", b"e", b"f/g"]), st.binary(max_size=9)), max_size=5)
)
def test_after_any_changes_the_set_holds_what_the_folder_holds(states: list[dict[bytes, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        top, target = Path(home) / "top", Path(home) / "set"
        for turn, state in enumerate(states):
            top.mkdir(exist_ok=True)
            for name in read_tree(top):
                Path(os.fsdecode(name_below(top, name))).unlink()
            make_tree(top, state)
            for name in state:
                os.utime(name_below(top, name), ns=(turn, turn))
            pack_small(top, target, shard_bytes=1500)
            assert read_set(target) == state
            assert load_card(bytes(target)).bytes == sum(map(len, state.values()))


def test_shards_fit_the_nodes_and_are_neither_tiny_nor_huge() -> None:
    gb = 1 << 30

    assert choose_shard_bytes(100 * 10**6, 1000, 1)[0] == SMALLEST_SHARD
    assert choose_shard_bytes(10_000 * gb, 1000, 4)[0] == LARGEST_SHARD
    chosen, why = choose_shard_bytes(150 * gb, 1_300_000, 16)
    assert 3 * 16 <= 150 * gb / chosen <= 4 * 16
    assert "16 nodes" in why


def test_shards_are_no_smaller_than_the_site_advises() -> None:
    gb = 1 << 30

    assert choose_shard_bytes(20 * gb, 1000, 16, 100 * 10**6) == choose_shard_bytes(20 * gb, 1000, 16)
    chosen, why = choose_shard_bytes(20 * gb, 1000, 16, 10**9)
    assert 10**9 <= chosen < 1.1 * 10**9
    assert "the site advises" in why
    assert choose_shard_bytes(900 * gb, 1000, 4, 10**10)[0] >= 10**10  # tape: larger than ours ever are
    assert choose_shard_bytes(900 * gb, 1000, 100, 10**9)[0] > 2 * 10**9


@pytest.mark.parametrize("shard_bytes", [0, SMALL])
def test_a_size_that_is_asked_for_wins_over_the_advice(tmp_path: Path, shard_bytes: int) -> None:
    top = make_many(tmp_path / "top", 200)

    packed = pack_small(top, tmp_path / "set", shard_bytes=shard_bytes, advised_bytes=10**9)

    assert (len(packed.card.shards) > 1) == bool(shard_bytes)
    assert ("the site advises it" in packed.card.about["shards"]) == (not shard_bytes)


@given(
    st.lists(st.lists(st.integers(0, 5000), min_size=1, max_size=8), max_size=12),
    st.integers(1, 10),
    st.integers(3000, 20_000),
    st.integers(0, 30_000),
)
def test_shards_called_certain_are_those_of_any_larger_size(
    sizes: list[list[int]], most_files: int, smallest: int, more: int
) -> None:
    early, late = Cutter(smallest, 0, most_files), Cutter(smallest + more, 0, most_files)
    certain = []
    for start, part in enumerate(sizes):
        batch = Batch([b"name"] * len(part), part, [0] * len(part))
        early.add(start, batch)
        late.add(start, batch)
        certain = [vars(shard).copy() for shard in early.shards[: early.count_certain(smallest)]]

    assert [vars(shard) for shard in late.shards[: len(certain)]] == certain
    if early.holds_for_all(smallest):
        assert [vars(shard) for shard in early.shards] == [vars(shard) for shard in late.shards]


def test_compression_is_taken_where_a_trial_shows_that_it_pays(tmp_path: Path) -> None:
    make_tree(tmp_path / "text", {b"%d.txt" % n: b"the same words " * 300 for n in range(20)})
    make_tree(tmp_path / "text", {b"old.gz": b"\x1f\x8b not ours" * 100, b"tiny": b"x"})
    make_tree(tmp_path / "noise", {b"%d.jpg" % n: os.urandom(5000) for n in range(20)})

    text = pack_small(tmp_path / "text", tmp_path / "text-set", compress=True)
    noise = pack_small(tmp_path / "noise", tmp_path / "noise-set", compress=True)

    assert text.compression is not None
    assert text.compression.pays
    assert set(read_set(tmp_path / "text-set")) == {b"%d.txt.gz" % n for n in range(20)} | {b"old.gz", b"tiny"}
    assert noise.compression is not None
    assert not noise.compression.pays
    assert "as they are" in noise.card.about["compression"]
    assert read_set(tmp_path / "noise-set") == read_tree(tmp_path / "noise")


# Of this program alone: ru_maxrss begins with what its parent had.
_MEASURE = (
    "import sys; from tests.shards.sets import *; from windlass_job.shards.sources import *;"
    "source = eval(sys.argv[1])(sys.argv[2].encode());"
    "wanted = Settings('set', most_files=2000, shard_bytes=1 << 30, workers=1);"
    "packed = pack(source, sys.argv[3].encode(), wanted);"
    "(peak,) = [line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')];"
    "print(packed.card.files, peak)"
)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders, called by the number of files below `top` in them, with a list and a table of these."""
    folder = tmp_path_factory.mktemp("numbered")
    for count in (3_000, 30_000):
        names = [f"top/{number // 1000 * 1000}/{number}.txt" for number in range(count)]
        for number in range(0, count, 1000):
            (folder / str(count) / "top" / str(number)).mkdir(parents=True)
        for name in names:
            (folder / str(count) / name).write_bytes(b"x")
        (folder / str(count) / "list.txt").write_text("".join(name + "\n" for name in names))
        rows = [f"{name},{number % 7},words about {number}\n" for number, name in enumerate(names)]
        (folder / str(count) / "table.csv").write_text("path,label,words\n" + "".join(rows))
    return folder


@pytest.mark.parametrize(
    ("named", "make_source"),
    [
        ("top", "choose_source"),
        ("list.txt", "lambda path: ListSource(path, largest_run=3000)"),
        ("table.csv", "lambda path: TableSource(path, largest_run=3000)"),
    ],
)
def test_memory_is_the_same_for_ten_times_as_many_files(
    tmp_path: Path, numbered: Path, named: str, make_source: str
) -> None:
    found = {}
    for count in (3_000, 30_000):
        argv = [sys.executable, "-c", _MEASURE, make_source, str(numbered / str(count) / named)]
        done = subprocess.run([*argv, str(tmp_path / str(count))], capture_output=True, check=True)
        files, found[count] = map(int, done.stdout.split())
        assert files == count

    assert found[30_000] < 1.1 * found[3_000]  # 100 bytes for each more file would be seen


def test_an_empty_folder_makes_an_empty_set(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()

    packed = pack(choose_source(bytes(tmp_path / "top")), bytes(tmp_path / "set"), Settings("set"))

    assert (packed.card.files, packed.card.shards, read_set(tmp_path / "set")) == (0, [], {})
