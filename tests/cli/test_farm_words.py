"""Where a farm stands, in words."""

from windlass.cli.farm_words import format_cuts
from windlass.core.farm.values import FarmStatus

STATUS = FarmStatus(farm_id="f", total=9, waiting=9, running=0, done=0, failed=0, pilots=(), is_closed=False)


def test_a_task_that_its_pilots_cut_short_is_told_with_how_long_they_ran() -> None:
    status = FarmStatus(**{**vars(STATUS), "cuts": {3: 2, 5: 1}})

    assert format_cuts(status, 8 * 3600.0) == [
        "task 3 was cut by the end of its pilot twice; it may need more than 8 h: --time",
        "task 5 was cut by the end of its pilot once; it may need more than 8 h: --time",
    ]
    assert format_cuts(STATUS, None) == []


def test_of_many_the_first_are_told() -> None:
    status = FarmStatus(**{**vars(STATUS), "cuts": dict.fromkeys(range(9), 1)})

    assert format_cuts(status, None)[4:] == [
        "task 4 was cut by the end of its pilot once; it may need more: --time",
        "… and 4 more were cut",
    ]
