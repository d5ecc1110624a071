"""Tasks so short that one Python is the narrow place: the slots of a node go on in several processes."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.farming.farms import Farm
from tests.waiting import wait_until
from windlass_job import wire
from windlass_job.farming import naming
from windlass_job.farming.parts import ALL, Part, Seat, Split, choose, list_parts, read_part

MANY = 12_000  # seconds of work
# WINDLASS_TEST_SPLIT="1,100,1": each slot of the two in a process of its own, and on a busy machine soon tried again


def find_parts(pilot: "subprocess.Popen[bytes]") -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pilot.pid), "-f", "--", "--part"], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def start_split(farm: Farm) -> "tuple[subprocess.Popen[bytes], list[int]]":
    """A pilot, and its parts at work."""
    pilot = farm.start(WINDLASS_TEST_SPLIT="1,100,1")
    wait_until(lambda: len(list((farm.folder / "pilots").glob("*_01_00?.01.rec"))) == 2, "both parts are there")
    return pilot, find_parts(pilot)


def is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_every_short_task_is_run_once(farm: Farm) -> None:
    farm.lay(["true"] * MANY)

    said = farm.run(WINDLASS_TEST_SPLIT="1,100,1")

    assert farm.find_codes() == [0] * MANY
    assert "tasks are short: 2 processes go on" in said
    assert said.count(wire.FARM_OVER) == 1
    assert said.endswith(wire.FARM_OVER + "\n")
    farm.check_nothing_is_held()
    farm.check_all_have_left()


@pytest.mark.slow
def test_the_progress_that_is_told_goes_on_and_never_back(farm: Farm) -> None:
    """Each part knows of the others only what is in the ledger: it is told by one."""
    farm.lay(["true"] * 2 * MANY)
    seen = [0]
    pilot = farm.start(WINDLASS_TEST_SPLIT="1,100,1", WINDLASS_RUN_DIR=str(farm.place))

    while pilot.poll() is None:
        with suppress(FileNotFoundError):
            seen.append(json.loads((farm.place / wire.PROGRESS).read_text())["done"])
        time.sleep(0.02)

    assert "2 processes go on" in farm.read_log()
    assert seen == sorted(seen)
    assert json.loads((farm.place / wire.PROGRESS).read_text())["done"] == 2 * MANY


@pytest.mark.slow
def test_a_long_task_among_them_keeps_the_other_slots_at_work(farm: Farm) -> None:
    """Two workers may not have the same slot: as long as one task runs there is one worker."""
    farm.lay([f"while [ ! -e {farm.place}/go ]; do sleep 0.05; done", *["true"] * MANY])
    pilot = farm.start(WINDLASS_TEST_SPLIT="1,100,1")

    wait_until(lambda: farm.count_ended() >= 4000, "short tasks go on beside the long one")
    assert find_parts(pilot) == []
    (farm.place / "go").touch()

    assert pilot.wait(60) == 0
    assert farm.find_codes() == [0] * (MANY + 1)


@pytest.mark.slow
def test_a_part_that_is_killed_is_started_anew_and_takes_over_what_it_had(farm: Farm) -> None:
    farm.lay(["true"] * MANY, retries=0)
    pilot, parts = start_split(farm)

    os.kill(parts[0], signal.SIGKILL)

    assert pilot.wait(90) == 0, farm.read_log()
    assert farm.find_codes() == [0] * MANY
    assert list((farm.folder / "pilots").glob("*_01_00?.02.rec"))
    farm.check_nothing_is_held()
    farm.check_all_have_left()


@pytest.mark.slow
def test_parts_do_not_outlive_a_pilot_that_is_killed(farm: Farm) -> None:
    farm.lay(["true"] * MANY)
    pilot, parts = start_split(farm)

    pilot.kill()
    pilot.wait()
    wait_until(lambda: all(map(is_gone, parts)), "its parts have ended")

    assert farm.state.done < MANY
    farm.run(WINDLASS_TEST_SPLIT="1,100,1")
    assert farm.find_codes() == [0] * MANY
    farm.check_all_have_left()


@pytest.mark.slow
def test_parts_do_not_outlive_a_pilot_that_is_killed_before_they_could_ask_for_it(farm: Farm) -> None:
    """While their Pythons start."""
    farm.lay(["true"] * MANY)
    pilot = farm.start(WINDLASS_TEST_SPLIT="1,100,1")
    wait_until(lambda: bool(find_parts(pilot)), "parts are started", pause_s=0.005)
    parts = find_parts(pilot)

    pilot.kill()

    wait_until(lambda: all(map(is_gone, parts)), "its parts have ended", timeout_s=5)
    assert farm.state.done < MANY


@pytest.mark.slow
def test_parts_whose_successor_is_there_do_not_come_back(farm: Farm) -> None:
    """A second start would take the successor, who has their tasks, for an older one."""
    farm.lay(["true"] * MANY)
    pilot, _ = start_split(farm)
    names = {path.name for path in (farm.folder / "pilots").glob("*.rec")}

    successor = farm.start("a", link=2)

    assert pilot.wait(20) == wire.EXIT_FENCED_OFF
    assert successor.wait(60) == 0
    assert {path.name for path in (farm.folder / "pilots").glob("*.rec")} - names == {"a.001.0002.01.0000.01.rec"}
    assert farm.find_codes() == [0] * MANY


@pytest.mark.slow
def test_a_pilot_whose_parts_all_fail_goes_on_as_a_whole(farm: Farm) -> None:
    """And does not try again and again: each try is a start of Python for each part, and files in the farm."""
    farm.lay(["rm windlass_job.pyz", *["true"] * 2 * MANY])

    said = farm.run(WINDLASS_TEST_SPLIT="1,100,1")

    assert said.count("2 processes go on") == 1
    assert farm.find_codes() == [0] * (2 * MANY + 1)


@pytest.mark.slow
def test_a_pilot_that_is_told_to_stop_stops_its_parts(farm: Farm) -> None:
    farm.lay(["true"] * MANY)
    pilot, parts = start_split(farm)

    pilot.terminate()

    assert pilot.wait(20) == 0
    assert all(map(is_gone, parts))
    farm.check_all_have_left()
    assert wire.FARM_OVER not in farm.read_log()
    farm.run("b", WINDLASS_TEST_SPLIT="1,100,1")
    assert farm.find_codes() == [0] * MANY


@pytest.mark.slow
def test_a_pilot_that_is_told_to_stop_when_all_is_over_says_so(farm: Farm) -> None:
    """Else another link would be started for nothing."""
    farm.lay(["true"] * MANY, linger_s=60)
    pilot, _ = start_split(farm)
    wait_until(lambda: farm.state.done == MANY, "its parts only wait for more tasks")

    pilot.terminate()

    assert pilot.wait(20) == 0
    assert farm.read_log().endswith(wire.FARM_OVER + "\n")


def test_parts_share_all_slots_and_no_slot_twice() -> None:
    for slots in range(4, 70):
        for count in range(1, 5):
            parts = [choose(list(range(slots)), part) for part in list_parts(count)]
            assert [slot for part in parts for slot in part] == list(range(slots))
            assert all(parts)


@pytest.mark.parametrize("word", ["0/2", "3/2", "x", "1", "/"])
def test_what_is_no_part_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"no part|invalid literal"):
        read_part(word)


def test_only_many_slots_with_short_tasks_and_enough_of_them_are_split() -> None:
    def decides(slots: int, rate: float, left: int, seat: Seat = ALL) -> bool:
        split = Split(slots, seat)
        split.look(0.0, rate, left)
        return split.is_pausing

    assert decides(16, 2000, 10_000)
    assert not decides(4, 2000, 10_000)
    assert not decides(16, 500, 10_000)
    assert not decides(16, 2000, 1000)
    assert not decides(16, 2000, 10_000, Seat(Part(2, 4), 1, False))


def test_a_pause_that_finds_a_long_task_is_given_up_and_not_tried_at_once_again() -> None:
    split = Split(16, ALL)
    split.look(0.0, 2000, 10_000)
    split.look(0.5, 2000, 10_000)
    assert not split.is_pausing
    split.look(1.0, 2000, 10_000)
    assert not split.is_pausing
    split.look(60.0, 2000, 10_000)
    assert split.is_pausing


def test_who_is_older() -> None:
    """In the order in which they come. Parts of one pilot are side by side; other nodes are others."""
    in_order = [
        "r.001.0001.01.0000.01",
        "r.001.0001.01.0000_01_002.01",
        "r.001.0001.01.0000.02",
        "r.001.0001.02.0000.01",
    ]
    for at, name in enumerate(in_order):
        assert [one for one in in_order if naming.is_older(name)(one)] == in_order[:at]
        assert [one for one in in_order if naming.is_newer(name)(one)] == in_order[at + 1 :]
    beside = (
        "r.001.0001.01.0000_01_002.01",
        "r.001.0001.01.0000_01_003.02",
        "r.001.0001.01.0001.01",
        "nobody",
        "a.b.c.d.e.f",
    )
    for name in beside:
        assert [one for one in beside if naming.is_older(name)(one)] == []
    assert naming.is_older("r.001.0001.01.0000_01_002.02")("r.001.0001.01.0000_01_002.01")
