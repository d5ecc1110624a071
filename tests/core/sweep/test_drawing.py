"""Grids take all, random draws the same for the same seed."""

from collections import Counter

import pytest

from windlass.core.sweep.drawing import draw, make_grid
from windlass.core.sweep.space import read_dimensions
from windlass.errors import UsageError


def test_a_grid_has_each_with_each() -> None:
    space = read_dimensions(["lr=log:1e-3..1e-1/3", "depth=2,4", "n=int:1..2"])

    rows = list(make_grid(space))

    assert len(rows) == 12
    assert rows[0] == {"lr": 0.001, "depth": 2, "n": 1}
    assert rows[-1] == {"lr": 0.1, "depth": 4, "n": 2}
    assert sorted({row["lr"] for row in rows}) == [0.001, pytest.approx(0.01), 0.1]


def test_points_of_a_grid_are_as_one_would_write_them() -> None:
    rows = list(make_grid(read_dimensions(["rate=log:1e-4..1/5"])))
    assert [row["rate"] for row in rows] == [0.0001, 0.001, 0.01, 0.1, 1.0]

    rows = list(make_grid(read_dimensions(["x=-0.2..0.4/7"])))
    assert [row["x"] for row in rows] == [-0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4]


def test_the_ends_of_a_grid_are_exact_and_no_point_of_a_narrow_one_is_lost() -> None:
    rows = list(make_grid(read_dimensions(["x=0.1234567890123456..0.1234567890123466/3"])))

    assert (rows[0]["x"], rows[2]["x"]) == (0.1234567890123456, 0.1234567890123466)
    assert len(rows) == 3


def test_a_grid_over_a_range_must_know_how_many() -> None:
    with pytest.raises(UsageError, match="cannot take all of lr") as caught:
        list(make_grid(read_dimensions(["lr=log:1e-5..1e-1"])))
    assert "lr=log:1e-05..0.1/5" in str(caught.value.hint)


def test_a_grid_that_is_too_large_says_how_large() -> None:
    with pytest.raises(UsageError, match=r"1000 x 1000 x 1000 = 1,000,000,000 trials"):
        make_grid(read_dimensions(["a=int:1..1000", "b=int:1..1000", "c=int:1..1000"]))


def test_points_of_a_small_whole_range_are_each_taken_once() -> None:
    assert [row["n"] for row in make_grid(read_dimensions(["n=log int:1..4/10"]))] == [1, 2, 3, 4]


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    space = read_dimensions(["lr=log:1e-5..1e-1", "depth=2,4,8", "n=int:1..100", "m=log int:1..64", "x=0..1"])

    first = [draw(space, seed=1, trial=number) for number in range(50)]

    assert first == [draw(space, seed=1, trial=number) for number in range(50)]
    assert first != [draw(space, seed=2, trial=number) for number in range(50)]
    # By its name alone: another range elsewhere changes nothing here.
    assert [row["n"] for row in first] == [
        draw(read_dimensions(["n=int:1..100"]), seed=1, trial=number)["n"] for number in range(50)
    ]


def test_what_is_drawn_lies_in_the_range_and_spreads_by_its_scale() -> None:
    space = read_dimensions(["lr=log:1e-4..1", "m=log int:1..1024"])

    drawn = [draw(space, seed=3, trial=number) for number in range(4000)]

    decades = Counter(int(f"{row['lr']:e}".split("e")[1]) for row in drawn)
    assert all(850 < decades[power] < 1150 for power in (-4, -3, -2, -1))
    assert {int(row["m"]) for row in drawn} >= {1, 2, 3}
    assert all(1 <= int(row["m"]) <= 1024 for row in drawn)
