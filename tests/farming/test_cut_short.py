"""Tasks that need more time than a pilot has: counted, told, and given up before they burn hours for ever."""

import os
import signal
import time

from tests.farming.calls import CallFarm
from tests.farming.farms import Farm
from tests.farming.test_calls import farm as call_farm
from tests.farming.test_calls import refer
from tests.farming.test_pilot import read_records
from tests.waiting import wait_until
from windlass_job import wire
from windlass_job.farming import adding, reading, records

__all__ = ["call_farm"]


def run_until_cut(farm: Farm, link: int, *, begun: int, whole_s: float = 2.0, runs_s: float = 1.8) -> None:
    """The job's end is announced when the pilot has had almost all of its time."""
    pilot = farm.start("a", link=link, WINDLASS_DEADLINE=str(int(time.time() + whole_s + 1)))
    wait_until(lambda: read_records(farm).count("s 0 1") == begun or pilot.poll() is not None, "a start")
    time.sleep(runs_s if pilot.poll() is None else 0)
    pilot.send_signal(signal.SIGTERM)
    assert pilot.wait(20) == 0, farm.read_log()


def look(farm: Farm) -> list[list[int]]:
    folder = os.fsencode(farm.folder)
    told: list[list[int]] = reading.look(folder, adding.open_ledger(folder))["cuts"]
    return told


def test_a_task_that_every_pilot_is_too_short_for_is_told_and_given_up(farm: Farm) -> None:
    farm.lay(["sleep 60", "true"])
    for link in (1, 2, 3):
        run_until_cut(farm, link, begun=link, whole_s=1.5, runs_s=2.0)
        assert look(farm) == [[0, link]]

    said = farm.run(link=4)

    (ended,) = farm.find_counted()[0]
    assert ended.code == records.CUT
    assert "cut it short 3 times" in ended.last_line
    assert farm.find_codes() == [records.CUT, 0]
    assert said.endswith(wire.FARM_OVER + "\n")
    assert look(farm) == []


def test_a_task_that_began_late_is_only_given_back(farm: Farm) -> None:
    farm.lay(["sleep 60"])
    run_until_cut(farm, 1, begun=1, whole_s=60, runs_s=0.2)

    assert look(farm) == []
    assert farm.state.pool == [(0, 1, 0)]


def test_a_call_that_every_pilot_is_too_short_for_is_given_up(call_farm: CallFarm) -> None:
    call_farm.add(refer("wait"), [(60,)])
    for link in (1, 2, 3):
        pilot = call_farm.start(WINDLASS_LINK=str(link), WINDLASS_DEADLINE=str(int(time.time() + 2)))
        wait_until(lambda count=link: read_starts(call_farm) == count, "a start")  # type: ignore[misc]
        time.sleep(2)
        pilot.send_signal(signal.SIGTERM)
        pilot.communicate(timeout=20)

    call_farm.run(WINDLASS_LINK="4")

    assert [one.codes for one in call_farm.load()] == [(records.CUT,)]


def read_starts(farm: CallFarm) -> int:
    return sum(path.read_text().count("s 0 1") for path in farm.folder.glob("farm/pilots/*.rec"))
