"""Whether anybody still uses a service, by what was seen of it."""

import os
import subprocess
import sys

import pytest

from tests.waiting import wait_until
from windlass_job.serving.idleness import Idleness, Look, choose_pause_s, count_cpu_s, format_minutes
from windlass_job.serving.jupyter_asking import read_activity, read_moment

HALF_AN_HOUR = 1800.0


def look(now: float, *, is_busy: bool = False, used: float | None = None, cpu_s: float = 0.0) -> Look:
    return Look(now, is_busy, used, cpu_s)


def test_silence_gives_a_warning_and_then_the_end() -> None:
    idleness = Idleness(HALF_AN_HOUR, 0.0)

    assert not idleness.is_warned(1499)
    assert idleness.is_warned(1501)
    assert not idleness.is_over(1799)
    assert idleness.is_over(1800)


def test_whoever_uses_it_has_the_whole_time_again() -> None:
    idleness = Idleness(HALF_AN_HOUR, 0.0)
    idleness.take(look(1700, used=1600))

    assert idleness.count_idle_s(1700) == 100
    assert not idleness.is_over(3399)


def test_what_computes_is_not_idle_even_in_silence() -> None:
    """A training in a terminal of JupyterLab prints nothing for an hour."""
    idleness = Idleness(HALF_AN_HOUR, 0.0)
    for minute in range(120):
        idleness.take(look(60.0 * minute, cpu_s=59.0 * minute))

    assert idleness.count_idle_s(60 * 119) == 0


def test_what_an_idle_kernel_costs_is_no_use() -> None:
    idleness = Idleness(HALF_AN_HOUR, 0.0)
    for minute in range(31):
        idleness.take(look(60.0 * minute, cpu_s=1.5 * minute))

    assert idleness.is_over(1860)


def test_a_clock_ahead_does_not_keep_it_for_ever() -> None:
    idleness = Idleness(HALF_AN_HOUR, 0.0)
    idleness.take(look(10, used=1e12))

    assert idleness.is_over(10 + HALF_AN_HOUR)


def test_without_a_limit_it_is_never_over() -> None:
    idleness = Idleness(None, 0.0)

    assert (idleness.is_over(1e9), idleness.is_warned(1e9), idleness.count_left_s(5)) == (False, False, None)


def test_looks_are_close_enough_for_the_warning() -> None:
    assert choose_pause_s(None) == choose_pause_s(HALF_AN_HOUR) == 15
    assert choose_pause_s(6) < 6 / 3


def test_kernels_and_terminals_count() -> None:
    kernels = [{"execution_state": "idle", "last_activity": "2026-11-18T12:00:00.5Z"}]
    terminals = [{"name": "1", "last_activity": "2026-11-18T12:00:05.000001Z"}]

    assert read_activity(kernels, []) == (False, read_moment("2026-11-18T12:00:00Z"))
    assert read_activity(kernels, terminals).last_active == read_moment("2026-11-18T12:00:05Z")
    assert read_activity([{"execution_state": "busy"}], []) == (True, None)
    assert read_activity([], ["nonsense"]) == (False, None)
    assert read_moment("yesterday") is None
    assert read_moment("1970-01-01T00:01:00Z") == 60


@pytest.mark.parametrize(("seconds", "words"), [(90.4, "90 s"), (300, "5 min"), (5400, "90 min"), (9000, "2 h 30 min")])
def test_times_for_people(seconds: float, words: str) -> None:
    assert format_minutes(seconds) == words


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc")  # noqa: PTH110
def test_the_work_of_all_below_is_counted() -> None:
    busy = "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
    below = f"import subprocess, sys; subprocess.call([sys.executable, '-c', {busy!r}])"
    process = subprocess.Popen([sys.executable, "-c", below], start_new_session=True)
    try:
        wait_until(lambda: count_cpu_s(process.pid) > 0.3, "its child computes")
    finally:
        os.killpg(process.pid, 9)
        process.wait()
