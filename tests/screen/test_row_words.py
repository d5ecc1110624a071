"""The words of the list."""

from tests.core.watching.test_today import run
from windlass.core.record import RunState
from windlass.core.watching.today import Today
from windlass.screen.row_words import STYLES, make_rows
from windlass.web.words import TONES


def test_every_state_has_its_look_in_both() -> None:
    assert set(STYLES) == set(TONES) == set(RunState)


def test_tasks_that_failed_are_seen_in_the_list() -> None:
    farm = {"farm": "f", "progress_of": 6.0, "tasks_failed": 2}
    going, over = run("f", RunState.RUNNING, **farm), run("g", RunState.DONE, ended=5.0, **farm)

    rows = make_rows(Today(now=9.0, since=0.0, running=(going,), ended=(over,)))

    told = ["".join(text for text, _ in row.line) for row in rows if row.run_id]
    assert len(told) == 2
    assert all("2 of 6 tasks failed" in line for line in told)
