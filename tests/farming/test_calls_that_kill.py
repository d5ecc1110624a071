"""Calls that take their pilot with them: known by what was recorded before, given one by one, and given up."""

import os
from pathlib import Path

import pytest

from tests.farming.calls import CallFarm
from tests.farming.test_calls import refer
from windlass_job.farming import ledger, ranges, records
from windlass_job.farming.entries import DiskStore, Ledger

WORK = """
import os, signal, time

def kill_pilot_at_three(x):
    with open("ran", "a") as file:
        file.write("%d\\n" % x)
    if x == 3:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return x

def wait(x):
    time.sleep(x)
"""


@pytest.fixture
def farm(tmp_path: Path) -> CallFarm:
    (tmp_path / "work.py").write_text(WORK)
    return CallFarm(folder=tmp_path)


def test_a_call_that_kills_its_pilot_at_once_is_given_up(farm: CallFarm) -> None:
    farm.add(refer("kill_pilot_at_three"), [(x,) for x in range(40)])
    for link in range(1, 8):
        farm.start(WINDLASS_LINK=str(link)).communicate(timeout=60)

    found = farm.load()
    assert found[3].codes == (records.LOST,)
    assert {x: one.codes for x, one in enumerate(found) if one.codes != (0,) and x != 3} == {}
    assert (farm.folder / "ran").read_text().splitlines().count("3") == 5


def test_calls_under_which_a_pilot_died_are_not_suspected_for_long(farm: CallFarm) -> None:
    """They were given to a worker that had begun none of them, or had to give them back."""
    farm.add(refer("kill_pilot_at_three"), [(x,) for x in range(2000)])
    farm.start(WINDLASS_LINK="1").communicate(timeout=60)
    farm.start(WINDLASS_LINK="2").communicate(timeout=60)

    state = Ledger(DiskStore(farm.root + b"/log"))
    farm.start(WINDLASS_LINK="3").communicate(timeout=60)
    left = [one for one in state.load().pool if ranges.count_losses(one[2]) > 1]
    assert ranges.count(left) <= len(os.sched_getaffinity(0))


def test_a_suspect_call_runs_alone(farm: CallFarm) -> None:
    farm.add(refer("wait"), [(0.4,)] * 9)

    def suspect(state: ledger.State) -> tuple[ledger.State, bytes]:
        made = ledger.give_back(state._replace(next=9), [(0, 4, 0), (4, 5, 3), (5, 9, 0)])
        return made, ledger.format_entry(ledger.GIVE_BACK, "x", made, moved=made.pool)

    Ledger(DiskStore(farm.root + b"/log")).append(suspect)
    farm.run()

    ends = {
        one.task: one for path in farm.folder.glob("farm/pilots/*.rec") for one in records.read_ends(path.read_bytes())
    }
    alone = ends.pop(4)
    assert [one for one in ends.values() if one.start < alone.start + 0.39 and alone.start < one.start + 0.39] == []
