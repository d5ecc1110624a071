"""Batches made ahead of the training by threads or processes. Samples here are small arrays, which need only NumPy."""

import gc
import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.sets import File, cut, write_set
from windlass_job import data
from windlass_job.reading.crew import WorkerDied
from windlass_job.reading.loader import BatchFailed, Loader
from windlass_job.reading.waiting import WINDOW_S, Waiting

COUNT = 90
BROKEN = 41


def decode(content: memoryview) -> Any:
    """Three numbers, the first of which is the sample's."""
    if bytes(content) == b"broken":
        raise ValueError("it is broken")
    return numpy.frombuffer(content, numpy.int32)


def make_file(number: int) -> File:
    content = numpy.array([number, number * 2, -number], numpy.int32).tobytes()
    return File(name=b"n/%03d" % number, content=content, label=number % 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set"), cut([make_file(number) for number in range(COUNT)], 40))


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = [make_file(number) for number in range(COUNT)]
    files[BROKEN] = File(name=b"n/041", content=b"broken")
    return write_set(tmp_path_factory.mktemp("broken"), cut(files, 40))


def load(folder: Path, **options: Any) -> Loader:
    return data.loader(data.Shards(folder), **{"batch_size": 8, "decode": decode, "workers": 2, **options})


def read_numbers(batches: Iterator[Any] | Loader) -> list[int]:
    found = []
    for arrays, labels in batches:
        assert (arrays[:, 1] == 2 * arrays[:, 0]).all()
        assert (labels == arrays[:, 0] % 10).all()
        found += arrays[:, 0].tolist()
    return found


@pytest.mark.parametrize("processes", [False, True])
def test_an_epoch_has_each_sample_once_and_the_next_another_order(folder: Path, processes: bool) -> None:
    with load(folder, processes=processes, drop_last=False) as batches:
        epochs = [read_numbers(batches) for _ in range(3)]

        assert len(batches) == 12
        assert [sorted(epoch) for epoch in epochs] == [list(range(COUNT))] * 3
        assert epochs[0] == list(data.Order(COUNT))
        assert epochs[0] != epochs[1] != epochs[2]
        assert batches.epoch == 3


def test_threads_and_processes_make_the_same_batches(folder: Path) -> None:
    with load(folder, processes=False, seed=4) as threads, load(folder, processes=True, seed=4, workers=3) as processes:
        assert read_numbers(threads) == read_numbers(processes)


def test_not_training_they_come_in_order_and_all(folder: Path) -> None:
    with load(folder, train=False) as batches:
        assert read_numbers(batches) == list(range(COUNT))


@given(st.integers(1, 4), st.integers(1, 30), st.integers(0, 14), st.integers(1, 4))
def test_it_goes_on_in_the_middle_of_an_epoch_on_other_ranks(
    folder: Path, world: int, batch_size: int, steps: int, later: int
) -> None:
    options = {"batch_size": batch_size, "remainder": "keep", "drop_last": False, "workers": 1, "seed": 1}
    taken, state = [], None
    for rank in range(world):
        with load(folder, rank=rank, world_size=world, **options) as batches:
            whole = min(
                data.Order(COUNT, rank=one, world_size=world, remainder="keep").__len__() for one in range(world)
            )
            taken += read_numbers(itertools.islice(batches, min(steps, whole // batch_size)))
            assert state in (None, batches.state_dict())
            state = batches.state_dict()
    assert state is not None
    if state["epoch"] == 0:
        for rank in range(later):
            with load(folder, rank=rank, world_size=later, **options) as batches:
                batches.load_state_dict(state)
                taken += read_numbers(batches)

    assert sorted(taken) == list(range(COUNT))


def test_an_epoch_that_was_left_early_for_another_is_resumed_at_its_start(folder: Path) -> None:
    with load(folder) as batches:
        read_numbers(itertools.islice(batches, 3))
        assert batches.state_dict()["start"] == 24
        batches.set_epoch(1)

        assert (batches.state_dict()["epoch"], batches.state_dict()["start"]) == (1, 0)


def test_a_broken_batch_is_the_first_when_it_is_resumed(broken: Path) -> None:
    with load(broken, train=False) as batches:
        with pytest.raises(BatchFailed):
            read_numbers(batches)

        assert batches.state_dict()["start"] == BROKEN // 8 * 8


def test_an_epoch_that_was_left_early_begins_anew(folder: Path) -> None:
    with load(folder) as batches:
        first = read_numbers(itertools.islice(batches, 3))
        again = read_numbers(batches)

        assert again[: len(first)] == first
        batches.set_epoch(7)
        assert read_numbers(batches) == _list_epoch(7)[:88]


def _list_epoch(epoch: int) -> list[int]:
    order = data.Order(COUNT)
    order.set_epoch(epoch)
    return list(order)


@pytest.mark.parametrize("processes", [False, True])
def test_a_broken_sample_is_an_error_in_the_training_that_names_it(broken: Path, processes: bool) -> None:
    with (
        load(broken, processes=processes) as batches,
        pytest.raises(BatchFailed, match=r"sample 41 \(n/041\): ValueError: it is broken"),
    ):
        read_numbers(batches)


def test_after_an_error_the_next_epoch_can_be_read(broken: Path) -> None:
    with load(broken, train=False) as batches:
        for _ in range(2):
            with pytest.raises(BatchFailed):
                read_numbers(batches)


def test_broken_samples_are_skipped_counted_and_told_when_that_is_wanted(
    broken: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with load(broken, on_error="skip", train=False) as batches:
        found = read_numbers(batches)

        assert found == [number for number in range(COUNT) if number != BROKEN]
        assert batches.skipped == 1
    assert "left out: sample 41 (n/041): ValueError: it is broken" in capfd.readouterr().err


def test_what_cannot_be_read_is_an_error_in_the_training(tmp_path: Path) -> None:
    write_set(tmp_path, cut([make_file(number) for number in range(COUNT)], 40))
    (tmp_path / "shard-00001.tar").unlink()
    with load(tmp_path) as batches, pytest.raises(BatchFailed, match=r"n/0\d\d.*shard-00001\.tar.*No such file"):
        read_numbers(batches)


def test_arrays_of_another_shape_are_refused_by_name(tmp_path: Path) -> None:
    files = [make_file(number) for number in range(20)]
    files[5] = File(name=b"n/005", content=bytes(16))
    with load(write_set(tmp_path, [files])) as batches, pytest.raises(BatchFailed, match=r"n/005.*shape is \(4,\)"):
        read_numbers(batches)


@pytest.mark.parametrize("make", [len, lambda content: float(len(content)), lambda content: numpy.int16(len(content))])
def test_numbers_make_batches_of_numbers(folder: Path, make: Any) -> None:
    with load(folder, decode=make) as batches:
        lengths, _ = next(iter(batches))

    assert lengths.tolist() == [12] * 8
    assert numpy.asarray(lengths).dtype == numpy.asarray(make(bytes(12))).dtype  # a tensor where PyTorch is loaded


@pytest.mark.parametrize("make", [lambda _: None, bytes, lambda _: "text", lambda _: {"a": 1}, lambda _: [[1], [1, 2]]])
def test_what_is_no_array_is_refused_at_once_with_what_it_must_be(folder: Path, make: Any) -> None:
    with pytest.raises(TypeError, match=r"decode= must return an array.*; it returned (NoneType|bytes|str|dict|list)"):
        load(folder, decode=make)


def test_numbers_that_the_first_samples_type_cannot_hold_are_refused_by_name(folder: Path) -> None:
    def make(content: memoryview) -> Any:
        number = int(decode(content)[0])
        return 0.5 if number == BROKEN else number

    with load(folder, decode=make) as batches, pytest.raises(BatchFailed, match=r"n/041.*type is float64.*int64"):
        list(batches)


def test_a_batch_stays_as_it_is_as_long_as_somebody_holds_it(folder: Path) -> None:
    """Its memory is used again only then; whoever keeps all of them gets copies."""
    with load(folder, prefetch=1) as batches:
        kept = [arrays for _ in range(4) for arrays, _ in batches]
        views = [arrays[2:4, :1] for arrays in kept[:3]]
        copies = [numpy.array(view) for view in views]
        numbers = [number for arrays in kept for number in arrays[:, 0].tolist()]
        del kept
        gc.collect()
        read_numbers(batches)
        assert all((numpy.array(view) == copy).all() for view, copy in zip(views, copies, strict=True))

    assert [sorted(numbers[at : at + 88]) for at in range(0, 4 * 88, 88)] == [
        sorted(_list_epoch(epoch)[:88]) for epoch in range(4)
    ]


def test_a_worker_that_is_killed_is_told(folder: Path) -> None:
    with load(folder, processes=True, workers=1) as batches:
        source = iter(batches)
        next(source)
        os.kill(batches._crew._processes[0].pid, signal.SIGKILL)
        with pytest.raises(WorkerDied, match="signal 9"):
            read_numbers(source)


def test_workers_end_with_the_loader(folder: Path) -> None:
    batches = load(folder, processes=True)
    processes = batches._crew._processes
    next(iter(batches))
    del batches
    gc.collect()

    assert [process.returncode for process in processes] == [0, 0]


def test_no_sample_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no samples"):
        load(write_set(tmp_path, []))


def test_fewer_samples_than_a_batch_are_an_error_at_once(folder: Path) -> None:
    with pytest.raises(ValueError, match="a batch of 91 is more than the 90 samples"):
        load(folder, batch_size=91)
    with load(folder, batch_size=91, drop_last=False) as batches:
        assert len(read_numbers(batches)) == COUNT


@pytest.mark.parametrize("options", [{"on_error": "ignore"}, {"decode": "best"}, {"remainder": "lose"}])
def test_nonsense_is_refused(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"on_error|decoder|remainder"):
        load(folder, **options)


def test_the_share_of_waiting_is_told_and_written(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gauges").mkdir()
    waiting = Waiting({"WINDLASS_RUN_DIR": str(tmp_path), "WINDLASS_LINK": "3"}, 0.0)
    for second in range(25):
        waiting.count(float(second), 0.25, 100)
    waiting.close()

    lines = [json.loads(line) for line in (tmp_path / "gauges" / "data.3.0.jsonl").read_text().splitlines()]
    assert [(line["wait_share"], line["samples_s"]) for line in lines] == [(0.25, 100.0)] * int(24 // WINDOW_S)
    assert waiting.share == 0.25
    assert capfd.readouterr().err.count("the training waits for data 25% of its time, at 100 samples a second") == 1
