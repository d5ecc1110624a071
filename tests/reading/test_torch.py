"""Packed data in PyTorch's own DataLoader, and batches as tensors. Needs tools/peers.sh."""

import itertools
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.reading.sets import cut, make_files, write_set
from windlass_job import data

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")
FILES = make_files(100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path, cut(FILES, 40))


def first_number(content: bytes | memoryview) -> int:
    return int(bytes(content).split(b".", 1)[0])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_dataset_with_our_order_as_its_sampler(folder: Path, workers: int, method: str) -> None:
    samples = data.dataset(str(folder), decode=first_number)
    loader = torch.utils.data.DataLoader(
        samples,
        batch_size=7,
        sampler=data.Order(100, seed=1),
        num_workers=workers,
        multiprocessing_context=method if workers else None,
    )

    batches = list(loader)

    assert isinstance(samples, torch.utils.data.Dataset)
    assert [number for numbers, _ in batches for number in numbers.tolist()] == list(data.Order(100, seed=1))
    assert all((labels == numbers % 10).all() for numbers, labels in batches)


@pytest.mark.parametrize("workers", [0, 3])
def test_an_iterable_dataset_is_shared_by_its_workers(folder: Path, workers: int) -> None:
    orders = [data.Order(100, seed=1, rank=rank, world_size=2, remainder="keep") for rank in range(2)]
    found = []
    for order in orders:
        samples = data.iterable_dataset(data.Shards(folder), order, decode=first_number)
        assert isinstance(samples, torch.utils.data.IterableDataset)
        loader = torch.utils.data.DataLoader(samples, batch_size=None, num_workers=workers)
        found += [number for number, _ in loader]

    assert sorted(found) == list(range(100))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_that_live_on_hear_of_the_next_epoch(folder: Path, method: str) -> None:
    samples = data.iterable_dataset(str(folder), data.Order(100, seed=1), decode=first_number)
    loader = torch.utils.data.DataLoader(
        samples, batch_size=None, num_workers=1, persistent_workers=True, multiprocessing_context=method
    )
    found = []
    for epoch in range(3):
        samples.set_epoch(epoch)
        found.append([int(number) for number, _ in loader])

    wanted = data.Order(100, seed=1)
    for epoch in range(3):
        wanted.set_epoch(epoch)
        assert found[epoch] == list(wanted)


def test_without_workers_an_iterable_dataset_is_resumed_behind_the_last_batch(folder: Path) -> None:
    order = data.Order(100, seed=1)
    samples = data.iterable_dataset(data.Shards(folder), order, decode=first_number)
    batches = itertools.islice(torch.utils.data.DataLoader(samples, 7), 3)
    first = [int(number) for numbers, _ in batches for number in numbers]
    later = data.Order(100)
    later.load_state_dict(order.state_dict())

    assert first + list(later) == list(data.Order(100, seed=1))


def test_tensors_of_a_function_make_batches_too(folder: Path) -> None:
    def make(content: memoryview) -> Any:
        return torch.full((2,), first_number(content), dtype=torch.int16)

    with data.loader(data.Shards(folder), 8, decode=make, workers=2) as batches:
        numbers, labels = next(iter(batches))

    assert numbers.dtype == torch.int16
    assert (numbers[:, 1] % 10 == labels).all()


def test_a_function_that_fails_is_told_with_the_sample(folder: Path) -> None:
    samples = data.dataset(data.Shards(folder)[10:], transform=lambda content: 1 / (first_number(content) - 15))

    with pytest.raises(ValueError, match=r"sample 5 \(part/00015\.bin\): ZeroDivisionError"):
        list(torch.utils.data.DataLoader(samples, batch_size=None))


def read_numbers(content: memoryview) -> Any:
    return numpy.array([first_number(bytes(content))] * 4, numpy.float32)


def test_batches_are_tensors_that_keep_their_memory(folder: Path) -> None:
    with data.loader(data.Shards(folder), 8, decode=read_numbers, workers=2, prefetch=1) as batches:
        kept = [(numbers, labels) for numbers, labels in itertools.chain(batches, batches)]

    assert all(isinstance(one, torch.Tensor) for pair in kept for one in pair)
    assert all((numbers[:, 0].long() % 10 == labels).all() for numbers, labels in kept)
    assert len({int(number) for numbers, _ in kept[:12] for number in numbers[:, 0]}) == 96


def test_dali_gets_whole_batches_of_coded_bytes(folder: Path) -> None:
    source = data.dali_source(data.Shards(folder), 30, seed=2)

    batches = list(itertools.islice(source, 5))

    wanted = list(data.Order(100, seed=2))
    assert [first_number(one.tobytes()) for coded, _ in batches[:3] for one in coded] == wanted[:90]
    assert all(labels.shape == (30, 1) for _, labels in batches)
    assert len(batches[4][0]) == 30
