"""Farms on pages: failed tasks are told wherever the farm is, with the command that tries them again."""

import time

from tests.web.house import House, make_run
from windlass.core.record import RunRecord, RunState

COMMAND = "exec python3 -I /scratch/alice/windlass/agent.pyz farm"


def make_pilot(run_id: str, **values: object) -> RunRecord:
    now = time.time()
    told = {"created": now - 60, "state": RunState.DONE, "ended": now - 5, "progress_of": 200, "progress_unit": "task"}
    return make_run(run_id, farm="farm", command=COMMAND, **{**told, **values})


def test_failed_tasks_are_told_on_every_page_with_what_to_do(guest: House) -> None:
    guest.add(make_pilot("farm", progress_done=150), make_pilot("second", progress_done=200, tasks_failed=12))

    for path in ("/", "/runs", "/runs/farm"):
        text = guest.get(path).text
        assert "12 of 200 tasks failed" in text, path
        assert "<code>windlass farm retry farm</code>" in text, path
        assert '<span class="state warn">done</span>' in text, path


def test_failed_tasks_of_a_farm_that_runs_are_told_too(guest: House) -> None:
    guest.add(make_pilot("farm", state=RunState.RUNNING, ended=None, progress_done=20, tasks_failed=1))

    assert "1 of 200 tasks failed" in guest.get("/").text


def test_a_farm_without_failures_is_done(guest: House) -> None:
    guest.add(make_pilot("farm", progress_done=200, tasks_failed=0))

    for path in ("/", "/runs", "/runs/farm"):
        text = guest.get(path).text
        assert "farm retry" not in text
        assert '<span class="state done">done</span>' in text


def test_the_page_of_a_farm_is_about_all_of_it(guest: House) -> None:
    """The run that leads it may be over long before its other pilots."""
    guest.add(make_pilot("farm", progress_done=150), make_pilot("second", state=RunState.RUNNING, progress_done=170))

    text = guest.get("/runs/farm").text

    assert "task 170 of 200" in text
    assert 'href="/runs/farm/cancel"' in text
    assert 'class="act danger"' in guest.get("/runs/farm/cancel").text


def test_its_command_is_what_one_asks_it_by_and_no_machinery(guest: House) -> None:
    guest.add(make_pilot("farm"), make_pilot("second"))

    for run in ("farm", "second"):
        text = guest.get(f"/runs/{run}").text
        assert "agent.pyz" not in text
        assert "<code>windlass farm results farm</code>" in text
