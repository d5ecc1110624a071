"""Packed data as a training sees it: a sequence of contents, by number, by name, many at once."""

import errno
import gzip
import inspect
import itertools
import multiprocessing
import os
import pickle
import pydoc
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.sets import File, cut, make_files, write_set
from windlass_job import data
from windlass_job.reading.shards import ReadFailed, Shards
from windlass_job.shards.card import CardDamaged
from windlass_job.shards.compressing import compress

FILES = make_files(200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set"), cut(FILES, 60))


@pytest.fixture
def shards(folder: Path) -> Iterator[Shards]:
    with Shards(folder) as made:
        yield made


def test_every_file_comes_by_its_number(shards: Shards) -> None:
    assert len(shards) == 200
    assert [shards[number] for number in range(200)] == [file.content for file in FILES]
    assert list(shards) == [file.content for file in FILES]


def test_numbers_count_from_the_end_too(shards: Shards) -> None:
    assert shards[-1] == FILES[-1].content
    assert shards[-200] == FILES[0].content


@pytest.mark.parametrize("number", [200, -201, 10**12])
def test_a_number_out_of_range_is_an_index_error(shards: Shards, number: int) -> None:
    with pytest.raises(IndexError):
        shards[number]


def test_a_slice_reads_like_the_whole(shards: Shards) -> None:
    part = shards[150:10:-7]

    wanted = FILES[150:10:-7]
    assert len(part) == len(wanted)
    assert list(part) == [file.content for file in wanted]
    assert part[-1] == wanted[-1].content
    assert [bytes(one) for one in part.read_many([2, 0])] == [wanted[2].content, wanted[0].content]
    assert part.name(1) == wanted[1].name.decode()
    assert part.label(1) == wanted[1].label
    assert list(part[1:3]) == [file.content for file in wanted[1:3]]


def test_a_file_is_found_by_its_name(shards: Shards) -> None:
    assert shards["part/00123.bin"] == shards[b"part/00123.bin"] == FILES[123].content
    assert shards.find("part/00123.bin") == 123
    with pytest.raises(KeyError):
        shards["part/none.bin"]


def test_names_labels_classes_and_columns_are_told(tmp_path: Path) -> None:
    files = [File(name=b"a", content=b"1", label=1, columns={"caption": "ü"}), File(name=b"\xff", content=b"2")]
    with Shards(write_set(tmp_path, [files])) as shards:
        assert [shards.label(number) for number in (0, 1)] == [1, None]
        assert shards.classes[1] == "class1"
        assert [shards.columns(number) for number in (0, 1)] == [{"caption": "ü"}, {}]
        assert os.fsencode(shards.name(1)) == b"\xff"
        assert shards[shards.name(1)] == b"2"


def test_only_what_lies_under_a_prefix(tmp_path: Path) -> None:
    files = [File(name=name, content=name) for name in (b"train/a", b"train/b", b"val/a", b"train2/c")]
    with Shards(write_set(tmp_path, [files[:3], files[3:]])) as shards:
        assert list(shards.under("train/")) == [b"train/a", b"train/b"]
        assert list(shards.under("val/")) == [b"val/a"]
        assert list(shards.under("none/")) == []


def test_dead_files_are_passed_over(tmp_path: Path) -> None:
    dead = {0: ((0, 1), (5, 9), (59, 60)), 2: ((0, 60),)}
    alive = [file for at, file in enumerate(FILES) if at not in {0, 5, 6, 7, 8, 59, *range(120, 180)}]
    with Shards(write_set(tmp_path, cut(FILES, 60), dead=dead)) as shards:
        assert [shards[number] for number in range(len(shards))] == [file.content for file in alive]
        assert [shards.name(number).encode() for number in range(len(shards))] == [file.name for file in alive]
        assert shards.find("part/00005.bin") is None
        assert [shards.find(file.name) for file in alive] == list(range(len(alive)))


@given(st.lists(st.integers(-200, 199), max_size=60))
def test_many_at_once_are_the_same_in_the_order_asked_for(folder: Path, numbers: list[int]) -> None:
    with Shards(folder) as shards:
        assert [bytes(one) for one in shards.read_many(numbers)] == [FILES[number].content for number in numbers]


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_read_ahead_they_come_in_order(shards: Shards, threads: int) -> None:
    numbers = [(number * 77) % 200 for number in range(900)]

    assert list(shards.iterate(numbers, threads=threads)) == [FILES[number].content for number in numbers]


STOPS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 120)), max_size=4)


@given(STOPS, st.integers(0, 2), st.booleans())
def test_stopped_anywhere_and_resumed_each_sample_comes_once(
    folder: Path, stops: list[tuple[int, int]], threads: int, selected: bool
) -> None:
    """Each time on other ranks, which stop in step; the last time all is taken that is left."""
    numbers: list[int] = []
    state = data.Order(200, seed=3).state_dict()
    with Shards(folder) as shards:
        source = shards[:] if selected else shards
        for world, steps in [*stops, (1, 200)]:
            states = []
            for rank in range(world):
                order = data.Order(200, rank=rank, world_size=world, remainder="keep")
                order.load_state_dict(state)
                most = min(steps, order.count_left(order.start, world - 1))
                contents = itertools.islice(source.iterate(order, threads), most)
                numbers += [int(content.split(b".")[0]) for content in contents]
                states.append(order.state_dict())
            assert states == [states[0]] * world
            state = states[0]
            if state["epoch"] == 1:
                break

    assert sorted(numbers) == list(range(200))


@pytest.mark.parametrize("threads", [0, 2])
def test_what_the_training_broke_off_at_counts_and_what_was_only_read_does_not(shards: Shards, threads: int) -> None:
    order = data.Order(200, seed=1)
    order.set_epoch(1)

    def train() -> None:
        for at, _ in enumerate(shards.iterate(order, threads)):
            if at == 99:
                raise RuntimeError("the training fails")

    with pytest.raises(RuntimeError):
        train()
    assert order.state_dict() == {"seed": 1, "count": 200, "shuffle": True, "epoch": 1, "start": 100}
    for _ in shards.iterate(order, threads):
        pass
    assert order.state_dict() == {"seed": 1, "count": 200, "shuffle": True, "epoch": 2, "start": 0}


@pytest.mark.parametrize("threads", [0, 2])
def test_a_sample_that_cannot_be_read_is_the_first_when_it_is_resumed(tmp_path: Path, threads: int) -> None:
    write_set(tmp_path, cut(FILES, 64))
    (tmp_path / "shard-00001.tar").unlink()
    order = data.Order(200, shuffle=False)
    with Shards(tmp_path) as shards, pytest.raises(ReadFailed):
        list(shards.iterate(order, threads))

    assert order.state_dict()["start"] == 64


def test_help_tells_what_can_be_done_with_them() -> None:
    told = pydoc.plain(pydoc.render_doc(data.Shards))

    public = [name for name, _ in inspect.getmembers(Shards) if not name.startswith("_")]
    assert {"read_many", "iterate", "label", "under"} <= set(public)
    assert [name for name in public if not inspect.getdoc(getattr(Shards, name))] == []
    assert "its name in the run file" in told
    assert all(f" {name}" in told for name in public)


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_on_the_way_comes_to_whoever_iterates(shards: Shards, threads: int) -> None:
    with pytest.raises(IndexError):
        list(shards.iterate([1, 2, 999], threads=threads))


def test_many_threads_read_at_once(folder: Path) -> None:
    wrong: list[int] = []
    with Shards(folder) as shards:

        def work(seed: int) -> None:
            numbers = [(number * 31 + seed * 7) % 200 for number in range(2000)]
            wrong.extend(number for number in numbers if shards[number] != FILES[number].content)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_empty_files_and_an_empty_set(tmp_path: Path) -> None:
    with Shards(write_set(tmp_path / "a", [[File(name=b"a", content=b""), File(name=b"b", content=b"x")]])) as shards:
        assert [shards[0], shards[1]] == [b"", b"x"]
        assert [bytes(one) for one in shards.read_many([1, 0])] == [b"x", b""]
    with Shards(write_set(tmp_path / "b", [])) as shards:
        assert len(shards) == 0
        assert list(shards) == []
        assert shards.read_many([]) == []


def test_pickled_it_is_its_path(shards: Shards) -> None:
    again = pickle.loads(pickle.dumps(shards))

    assert again[7] == FILES[7].content
    again.close()


def _read_in_child(shards: Shards, pipe: "multiprocessing.connection.Connection") -> None:
    pipe.send([bytes(shards[number]) for number in range(0, 200, 9)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_read_too(folder: Path, method: str) -> None:
    context = multiprocessing.get_context(method)
    with Shards(folder) as shards:
        assert shards[0] == FILES[0].content
        children = []
        for _ in range(3):
            here, there = context.Pipe()
            process = context.Process(target=_read_in_child, args=(shards, there))  # type: ignore[attr-defined]
            process.start()
            children.append((process, here))
        found = [here.recv() for _, here in children]
        for process, _ in children:
            process.join()
        assert found == [[FILES[number].content for number in range(0, 200, 9)]] * 3
        assert shards[1] == FILES[1].content


def test_a_forked_child_opens_files_of_its_own(folder: Path) -> None:
    """Its parent may close or change over its handles."""
    with Shards(folder) as shards:
        shards[0]
        handles = set(shards._handles._open.values())
        child = os.fork()
        if child == 0:
            os._exit(7 if shards._handles._open == {} and shards[0] == FILES[0].content else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert set(shards._handles._open.values()) == handles


def test_a_cut_shard_is_told_with_sample_and_place(tmp_path: Path) -> None:
    write_set(tmp_path, [FILES[:50]])
    with Shards(tmp_path) as shards:
        assert shards[49] == FILES[49].content
        os.truncate(tmp_path / "shard-00000.tar", 5000)
        with pytest.raises(
            ReadFailed, match=r"sample 49 \(part/00049\.bin, byte \d+ of .*shard-00000\.tar\)"
        ) as failure:
            shards[49]
        with pytest.raises(ReadFailed, match="part/00048"):
            shards.read_many([1, 48])
    assert failure.value.errno == errno.EIO


def test_a_missing_shard_is_told_with_sample_and_place(tmp_path: Path) -> None:
    write_set(tmp_path, cut(FILES, 100))
    (tmp_path / "shard-00001.tar").unlink()
    with Shards(tmp_path) as shards:
        assert shards[99] == FILES[99].content
        for ask in (lambda: shards[100], lambda: shards.read_many([3, 100])):
            with pytest.raises(ReadFailed, match=r"sample 100 \(part/00100\.bin.*shard-00001\.tar\).*No such file"):
                ask()


def test_a_flipped_bit_is_seen_when_contents_are_checked(tmp_path: Path) -> None:
    write_set(tmp_path, [FILES[:50]])
    with Shards(tmp_path, check=True) as shards:
        offset = shards.get_index(0).offsets[20]
        content = bytearray((tmp_path / "shard-00000.tar").read_bytes())
        content[offset] ^= 1
        (tmp_path / "shard-00000.tar").write_bytes(content)
        assert shards[19] == FILES[19].content
        with pytest.raises(ReadFailed, match=r"part/00020\.bin.*not those that were packed"):
            shards[20]
        with pytest.raises(ReadFailed, match=r"part/00020\.bin"):
            shards.read_many([19, 20])


def test_compressed_files_come_as_they_were(tmp_path: Path) -> None:
    plain = [File(name=b"t/%d.txt" % number, content=b"word " * 500 + b"%d" % number) for number in range(5)]
    packed = [File(name=file.name + b".gz", content=compress(file.content)) for file in plain]
    folder = write_set(tmp_path, [packed])
    card = (folder / "dataset.json").read_text()
    (folder / "dataset.json").write_text(card.replace('"about": {}', '"about": {"compressed": "gzip"}'))

    with Shards(folder) as shards:
        assert [shards[number] for number in range(5)] == [file.content for file in plain]
        assert [bytes(one) for one in shards.read_many([4, 2])] == [plain[4].content, plain[2].content]
        assert shards.name(3) == "t/3.txt"
        assert shards["t/3.txt"] == plain[3].content


def test_files_that_were_compressed_before_keep_their_names(tmp_path: Path) -> None:
    ours = File(name=b"a.txt.gz", content=compress(b"word " * 500))
    theirs = [File(name=b"b.txt.gz", content=gzip.compress(b"theirs")), File(name=b"c.gz", content=b"no gzip")]
    folder = write_set(tmp_path, [[ours, *theirs]])
    card = (folder / "dataset.json").read_text()
    (folder / "dataset.json").write_text(card.replace('"about": {}', '"about": {"compressed": "gzip"}'))

    with Shards(folder) as shards:
        assert [shards.name(number) for number in range(3)] == ["a.txt", "b.txt.gz", "c.gz"]
        assert [shards.find(name) for name in ("a.txt", "b.txt.gz", "c.gz")] == [0, 1, 2]
        assert [shards.find(name) for name in ("a.txt.gz", "b.txt", "c")] == [None] * 3
        assert shards["b.txt.gz"] == theirs[0].content


def test_more_shards_than_files_may_be_open(tmp_path: Path) -> None:
    """The limit is raised as far as the system allows; beyond it, an error says so."""
    write_set(tmp_path, cut(FILES, 2))
    script = (
        "import resource, sys; from windlass_job.reading.shards import Shards;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, int(sys.argv[2]))); shards = Shards(sys.argv[1]);"
        "print(sum(len(shards[number]) for number in range(200)))"
    )
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    run = [sys.executable, "-c", script, str(tmp_path)]
    enough = subprocess.run([*run, str(min(hard, 4096))], capture_output=True, text=True, check=False)
    few = subprocess.run([*run, "64"], capture_output=True, text=True, check=False)

    assert enough.stdout.strip() == str(sum(len(file.content) for file in FILES)), enough.stderr
    assert few.returncode
    assert "Too many open files" in few.stderr


def test_by_name_it_is_the_data_of_the_run_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_DATA_MY_SET", str(folder))

    with data.Shards("my-set") as shards:
        assert shards[3] == FILES[3].content


def test_an_unknown_name_is_told_with_the_variable_that_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match=r"WINDLASS_DATA_NONE.*\[data\.none\]"):
        data.Shards("none")


def test_a_folder_without_a_card_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CardDamaged, match="is no packed data set"):
        data.Shards(tmp_path)
