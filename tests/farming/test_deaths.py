"""Pilots are killed, frozen, or find a full disk: every task ends once in what counts, and none is lost."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.farming.farms import Farm
from tests.farming.test_pilot import read_records
from tests.waiting import wait_until
from windlass_job import wire
from windlass_job.farming import ledger, records

TELL = "sh -c 'echo $WINDLASS_TASK >> ran'"  # one write, which the system appends


def count_runs(farm: Farm) -> dict[int, int]:
    found = dict.fromkeys(range(farm.state.total), 0)
    for line in (farm.place / "ran").read_text().splitlines():
        found[int(line)] += 1
    return found


def test_what_a_dead_pilot_had_is_taken_over(farm: Farm) -> None:
    farm.lay([f"{TELL}; test -e go || sleep 60"] + [TELL] * 9)
    dead = farm.start("a")
    wait_until(lambda: "s 2 1" in read_records(farm), "some tasks")
    dead.kill()
    (farm.place / "go").touch()

    farm.run("b", timeout_s=30)

    assert farm.find_codes() == [0] * 10
    assert list(farm.state.sealed) == ["a.001.0001.01.0000.01"]
    assert max(count_runs(farm).values()) <= 2
    farm.check_nothing_is_held()
    farm.check_all_have_left()


def test_a_successor_does_not_wait_until_its_predecessor_is_taken_for_dead(farm: Farm) -> None:
    """The next link, and the same one started again by the agent."""
    farm.lay([f"{TELL}; test -e go || sleep 60"] * 3)
    for link in (1, 1):
        pilot = farm.start("a", link=link, beat_s=60)
        wait_until(lambda: read_records(farm).count("s 1 1") == len(farm.pilots), "a start")
        pilot.kill()
        pilot.wait()
    (farm.place / "go").touch()

    farm.run("a", link=2, timeout_s=30, beat_s=60)

    assert farm.find_codes() == [0] * 3
    assert len(farm.state.sealed) == 2


@pytest.mark.slow
def test_a_frozen_pilot_that_comes_back_does_no_harm_and_works_on(farm: Farm) -> None:
    farm.lay([f"{TELL}; sleep 0.2"] * 100)
    frozen = farm.start("a")
    wait_until(lambda: read_records(farm).count("e ") > 3, "some tasks")
    frozen.send_signal(signal.SIGSTOP)
    other = farm.start("b")
    wait_until(lambda: bool(farm.state.sealed), "its seal", timeout_s=30)

    frozen.send_signal(signal.SIGCONT)

    assert frozen.wait(60) == 0
    assert other.wait(60) == 0
    assert "took this one for dead" in farm.read_log("a")
    assert farm.find_codes() == [0] * 100
    assert (farm.folder / "pilots" / "a.001.0001.01.0000.02.rec").exists()
    farm.check_nothing_is_held()


@pytest.mark.slow
def test_an_idle_pilot_gets_tasks_of_one_that_has_too_many(farm: Farm) -> None:
    """Long tasks, and the second one comes when all of them are taken."""
    farm.lay(["true"] * 300 + ["sleep 0.5"] * 40)
    first = farm.start("a", beat_s=0.5)
    wait_until(lambda: farm.state.next == 340, "all taken")

    farm.start("b", beat_s=0.5).wait(60)

    first.wait(60)
    assert farm.find_codes() == [0] * 340
    assert (farm.folder / "pilots" / "b.001.0001.01.0000.01.rec").read_text().count("e 3") > 5


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_pilots_killed_at_random(farm: Farm, seed: int) -> None:
    chance = random.Random(seed)
    farm.lay([TELL] * 1500)
    kills, alive = 0, {name: farm.start(name) for name in "abc"}
    links = dict.fromkeys(alive, 1)

    deadline = time.monotonic() + 120
    while alive and time.monotonic() < deadline:
        time.sleep(chance.uniform(0.05, 0.4))
        for name, pilot in list(alive.items()):
            if pilot.poll() is not None:
                assert pilot.returncode == 0, farm.read_log(name)
                del alive[name]
        if alive and kills < 12:
            name = chance.choice(sorted(alive))
            alive[name].kill()
            alive[name].wait()
            kills += 1
            links[name] += 1
            alive[name] = farm.start(name, link=links[name])

    assert not alive
    assert farm.find_codes() == [0] * 1500
    farm.check_nothing_is_held()
    runs = count_runs(farm)
    assert min(runs.values()) == 1
    assert sum(runs.values()) - 1500 <= 2 * kills  # two slots


def test_a_task_that_kills_its_pilot_is_given_up(farm: Farm) -> None:
    farm.lay(["kill -9 $PPID", "true", "true"])
    for link in range(1, 9):
        farm.start("a", link=link).wait(30)

    assert farm.find_codes() == [records.LOST, 0, 0]
    assert farm.read_log().endswith(wire.FARM_OVER + "\n")


# ---- disks ----


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.getuid() != 0:
        pytest.skip("needs root, for a small file system")
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "farm", place], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small file system: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.slow
def test_a_full_disk_is_waited_for(small_disk: Path) -> None:
    farm = Farm(small_disk).lay(["sleep 0.02; echo x"] * 300)
    try:
        pilot = farm.start()
        wait_until(lambda: read_records(farm).count("e ") > 3, "some tasks")
        fill(small_disk / "ballast")
        wait_until(lambda: "cannot be recorded" in farm.read_log() or pilot.poll() is not None, "its words")

        (small_disk / "ballast").unlink()

        assert pilot.wait(60) == 0
        assert farm.find_codes() == [0] * 300
        farm.check_nothing_is_held()
    finally:
        farm.stop()


def test_a_task_that_fills_the_disk_fails_alone(small_disk: Path) -> None:
    """It removes what it wrote when it ends, as people's scripts seldom do."""
    farm = Farm(small_disk).lay(["head -c 9000000 /dev/zero > big; code=$?; rm big; exit $code"] + ["true"] * 50)
    try:
        farm.run(TMPDIR=str(small_disk))

        assert farm.find_codes() == [1] + [0] * 50
    finally:
        farm.stop()


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            for size in (1 << 16, 1 << 12, 1):
                while size > 1 or file.tell() < 5 << 20:
                    try:
                        file.write(b"\0" * size)
                    except OSError:
                        break
        finally:
            file.flush()


# ---- a million ----


@pytest.mark.slow
def test_a_million_rows_need_little_memory(farm: Farm) -> None:
    """Claimed by one, who dies; and taken over by another, who is asked to stop."""
    farm.lay("true" for _ in range(1_000_000))
    first = farm.start("a")
    wait_until(lambda: farm.state.next > 20_000, "a great claim", timeout_s=60)
    first.kill()
    second = farm.start("a", link=2)
    wait_until(lambda: len(farm.state.sealed) == 1, "its seal", timeout_s=60)
    time.sleep(1)
    most_mb = int(next(line for line in read_status(second.pid) if line.startswith("VmHWM")).split()[1]) / 1024

    second.terminate()

    assert second.wait(60) == 0
    state = farm.state
    assert state.done + ledger.count_free(state) == 1_000_000
    assert len(state.pool) < 10
    assert most_mb < 200


def read_status(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/status").read_text().splitlines()


@pytest.mark.slow
def test_the_records_of_a_dead_one_that_had_a_million_need_little_memory(farm: Farm) -> None:
    farm.lay("true" for _ in range(1_000_000))
    pilots = farm.folder / "pilots"
    pilots.mkdir()

    def change(state: ledger.State) -> tuple[ledger.State, bytes]:
        made, taken = ledger.claim(state, 1_000_000)
        return made, ledger.format_entry(ledger.CLAIM, "dead.001.0001.01.0000.01", made, moved=taken)

    state = farm.book.append(change)
    assert state is not None
    with (pilots / "dead.001.0001.01.0000.01.rec").open("w") as file:
        file.write(records.format_claim(state.number))
        for task in range(1_000_000):
            file.write(records.format_start(task, 1, 0.0))
            file.write(records.format_end(records.Ended(task, 1, 0, 0.0, 1.0, 0.0, 0.0, "")) if task < 999_990 else "")
    (farm.folder / "beats").mkdir()
    (farm.folder / "beats" / "dead.001.0001.01.0000.01").write_text("1\n")

    pilot = farm.start("dead", link=2)
    peaks_kb = [0]

    def look() -> bool:
        """Not by getrusage: that counts what pytest had when it started the pilot, and all its other children."""
        with suppress(OSError):
            peaks_kb.extend(int(line.split()[1]) for line in read_status(pilot.pid) if line.startswith("VmHWM"))
        return farm.state.done == 1_000_000

    wait_until(look, "all", timeout_s=120)
    assert pilot.wait(20) == 0

    assert 0 < max(peaks_kb) / 1024 < 200
    farm.check_nothing_is_held()
