"""The order of samples: each exactly once, whoever takes them, and wherever the training was interrupted."""

import itertools
from collections import Counter

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass_job.reading.order import Order, Permutation

COUNTS = st.integers(1, 3000)
SEEDS = st.one_of(st.integers(-(2**70), 2**70), st.text(max_size=5))
EPOCHS = st.integers(0, 10**6)


@given(COUNTS, SEEDS, EPOCHS)
def test_it_is_a_permutation(count: int, seed: object, epoch: int) -> None:
    permutation = Permutation(count, seed, epoch)

    assert sorted(permutation.take(range(count))) == list(range(count))


@given(st.one_of(COUNTS, st.integers(1, 2**40)), SEEDS, EPOCHS, st.data())
def test_numpy_computes_the_same_numbers(count: int, seed: object, epoch: int, chosen: st.DataObject) -> None:
    positions = chosen.draw(st.lists(st.integers(0, count - 1), min_size=20, max_size=60))
    permutation = Permutation(count, seed, epoch)

    assert numpy.__name__ == "numpy"  # imported: `take` uses it
    assert permutation.take(positions) == [permutation[position] for position in positions]


@given(st.integers(20, 3000), st.integers(0, 2**64), EPOCHS)
def test_the_same_seed_gives_the_same_order_and_each_epoch_another(count: int, seed: int, epoch: int) -> None:
    order = Permutation(count, seed, epoch).take(range(count))

    assert order == Permutation(count, seed, epoch).take(range(count))
    assert order != Permutation(count, seed, epoch + 1).take(range(count))
    assert order != Permutation(count, seed + 1, epoch).take(range(count))


def test_no_place_is_preferred() -> None:
    """Over 4,000 epochs each of 12 samples comes at each of 12 places about equally often, and after each other one."""
    places: Counter[tuple[int, int]] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    for epoch in range(4000):
        order = Permutation(12, 3, epoch).take(range(12))
        places.update(enumerate(order))
        pairs.update(itertools.pairwise(order))

    # Five standard deviations around 333.
    assert all(245 < places[place, sample] < 422 for place in range(12) for sample in range(12))
    assert all(245 < pairs[one, other] < 422 for one in range(12) for other in range(12) if one != other)


def take_all(count: int, sizes: list[tuple[int, int]], remainder: str) -> tuple[list[int], list[list[int]]]:
    """Every (world size, steps) takes its steps and hands its state on; the last takes all that is left.

    All samples in the order in which they were taken, and those of each rank in the last part.
    """
    state, taken = None, []
    for world, steps in sizes:
        orders = [Order(count, seed=5, rank=rank, world_size=world, remainder=remainder) for rank in range(world)]
        for order in orders:
            if state is not None:
                order.load_state_dict(state)
        steps = min(steps, min(len(order) for order in orders) - 1)
        if steps <= 0:
            continue
        rows = [list(itertools.islice(order, steps)) for order in orders]
        taken += [number for row in rows for number in row]
        states = [order.state_dict() for order in orders]
        assert all(one == states[0] for one in states)
        state = states[0]
    last = []
    world = sizes[-1][0]
    for rank in range(world):
        order = Order(count, seed=5, rank=rank, world_size=world, remainder=remainder)
        if state is not None:
            order.load_state_dict(state)
        row = list(order)
        assert len(row) == len(order)
        last.append(row)
    return taken, last


PARTS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40)), min_size=1, max_size=5)


@given(st.integers(1, 400), PARTS)
def test_each_exactly_once_over_ranks_and_resumes(count: int, sizes: list[tuple[int, int]]) -> None:
    taken, last = take_all(count, sizes, "keep")

    assert sorted([*taken, *itertools.chain(*last)]) == list(range(count))
    assert max(map(len, last)) - min(map(len, last)) <= 1


@given(st.integers(1, 400), PARTS)
def test_wrapped_all_ranks_have_equally_many_and_few_come_twice(count: int, sizes: list[tuple[int, int]]) -> None:
    taken, last = take_all(count, sizes, "wrap")

    all_taken = [*taken, *itertools.chain(*last)]
    assert set(all_taken) == set(range(count))
    assert len(all_taken) - count < sizes[-1][0]
    assert len({len(row) for row in last}) == 1


@given(st.integers(1, 400), PARTS)
def test_dropped_all_ranks_have_equally_many_and_few_are_left_out(count: int, sizes: list[tuple[int, int]]) -> None:
    taken, last = take_all(count, sizes, "drop")

    all_taken = [*taken, *itertools.chain(*last)]
    assert len(set(all_taken)) == len(all_taken)
    assert count - len(all_taken) < sizes[-1][0]
    assert len({len(row) for row in last}) == 1


@given(st.integers(1, 3000), st.integers(1, 5), st.integers(1, 7))
def test_workers_share_what_their_rank_takes(count: int, world: int, workers: int) -> None:
    def make(rank: int) -> Order:
        return Order(count, rank=rank, world_size=world, remainder="keep")

    for rank in range(world):
        split = [list(make(rank).split(worker, workers)) for worker in range(workers)]
        dealt = itertools.chain(*itertools.zip_longest(*split))
        assert [number for number in dealt if number is not None] == list(make(rank))


@given(st.integers(1, 3000), st.integers(1, 7), st.lists(st.integers(0, 6), max_size=60))
def test_workers_of_one_process_lose_nothing_wherever_they_stop(count: int, workers: int, turns: list[int]) -> None:
    """What was handed out beyond the first that is missing comes again; nothing is left out."""
    order = Order(count, seed=5)
    parts = [order.split(worker, workers) for worker in range(workers)]
    taken = [next(parts[turn], None) for turn in turns if turn < workers]

    state = order.state_dict()
    later = Order(count)
    later.load_state_dict(state)
    whole = list(Order(count, seed=5))
    rest = list(later) if state["epoch"] == 0 else []

    assert rest == whole[count - len(rest) :]
    assert set(whole) - set(rest) <= set(taken)
    assert not rest or rest[0] not in taken


@given(st.integers(1, 300), st.integers(1, 5), st.integers(0, 300))
def test_workers_that_take_turns_stop_at_a_sample(count: int, workers: int, steps: int) -> None:
    order = Order(count, seed=5)
    parts = [order.split(worker, workers) for worker in range(workers)]
    for step in range(min(steps, count)):
        next(parts[step % workers])

    assert order.taken == min(steps, count)


def test_workers_of_one_process_go_on_together_where_it_was_resumed() -> None:
    order = Order(20, shuffle=False)
    order.load_state_dict({"seed": 0, "count": 20, "shuffle": False, "epoch": 0, "start": 11})

    assert [list(order.split(worker, 2)) for worker in range(2)] == [[11, 13, 15, 17, 19], [12, 14, 16, 18]]
    assert order.state_dict()["epoch"] == 1


def test_an_iteration_that_was_left_counts_no_longer() -> None:
    order = Order(20)
    left = iter(order)
    next(left)
    order.set_epoch(1)
    next(left)

    assert order.state_dict()["start"] == 0


def test_without_shuffling_they_come_in_order() -> None:
    assert list(Order(7, shuffle=False, rank=1, world_size=3, remainder="keep")) == [1, 4]
    assert list(Order(7, shuffle=False, rank=1, world_size=3, remainder="wrap")) == [1, 4, 0]
    assert list(Order(7, shuffle=False, rank=1, world_size=3, remainder="drop")) == [1, 4]


def test_an_epoch_that_was_resumed_goes_on_once_and_the_next_begins_anew() -> None:
    order = Order(10, rank=0, world_size=1)
    whole = list(order)
    first = list(itertools.islice(order, 4))
    again = Order(10, rank=0, world_size=1)
    again.load_state_dict(order.state_dict())

    again.set_epoch(0)
    rest = list(again)

    assert first + rest == whole
    assert list(again) == whole
    again.set_epoch(1)
    assert len(again) == 10
    assert list(again) != whole


def test_a_finished_epoch_is_resumed_as_the_next() -> None:
    order = Order(10, rank=0, world_size=1)
    list(order)

    assert order.state_dict()["epoch"] == 1
    assert order.state_dict(taken=4) == {"seed": 0, "count": 10, "shuffle": True, "epoch": 0, "start": 4}


def test_a_state_of_other_data_is_refused() -> None:
    with pytest.raises(ValueError, match="began with 10 samples, and there are 11 now"):
        Order(11).load_state_dict(Order(10).state_dict())


@pytest.mark.parametrize("options", [{"remainder": "none"}, {"rank": 3, "world_size": 3}])
def test_nonsense_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"none|rank 3 of 3"):
        Order(5, **options)  # type: ignore[arg-type]


def test_the_rank_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")

    assert list(Order(8, shuffle=False)) == [2, 6]
