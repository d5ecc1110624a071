"""Where a farm stands, in words."""

from dataclasses import replace

from tests.builders import RECORD
from windlass.cli.farm_words import format_cuts, make_pilot_table
from windlass.core.farm.values import FarmStatus, Worker

STATUS = FarmStatus(farm_id="f", total=9, waiting=9, running=0, done=0, failed=0, pilots=(), is_closed=False)


def test_a_task_that_its_pilots_cut_short_is_told_with_how_long_they_ran() -> None:
    status = FarmStatus(**{**vars(STATUS), "cuts": {3: 2, 5: 1}})

    assert format_cuts(status, 8 * 3600.0) == [
        "task 3 was cut by the end of its pilot twice; it may need more than 8 h: --time",
        "task 5 was cut by the end of its pilot once; it may need more than 8 h: --time",
    ]
    assert format_cuts(STATUS, None) == []


def test_an_ended_pilot_keeps_its_node_and_has_no_column_for_what_it_runs() -> None:
    worker = Worker(
        name="w", run_id=RECORD.run_id, node="n1", is_alive=False, slots=4, done=3, failed=2, stopped=0, seen=0.0
    )

    head, rows = make_pilot_table(FarmStatus(**{**vars(STATUS), "pilots": (worker,)}), [RECORD])
    running, _ = make_pilot_table(FarmStatus(**{**vars(STATUS), "pilots": (replace(worker, is_alive=True),)}), [RECORD])

    assert dict(zip(head, rows[0], strict=True))["NODES"] == "n1"
    assert head[-2:] == ("DONE", "TRIES FAILED")
    assert "AT ONCE" not in head
    assert "AT ONCE" in running


def test_of_many_the_first_are_told() -> None:
    status = FarmStatus(**{**vars(STATUS), "cuts": dict.fromkeys(range(9), 1)})

    assert format_cuts(status, None)[4:] == [
        "task 4 was cut by the end of its pilot once; it may need more: --time",
        "… and 4 more were cut",
    ]
