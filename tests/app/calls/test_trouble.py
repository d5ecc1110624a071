"""Trouble at the site that passes: calls that are there go on, and so do their futures."""

import logging
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import windlass
from tests.conftest import Places
from windlass.app.calls.desk import Desk
from windlass.errors import SiteNotReady

HERE_ONLY = pytest.mark.parametrize("session", ["here"], indirect=True)


@HERE_ONLY
def test_slurm_that_does_not_answer_for_a_while_fails_no_future(
    executor: windlass.Executor, places: Places, caplog: pytest.LogCaptureFixture
) -> None:
    desk, program = executor._desk, places.pocket / "bin" / "squeue"
    kept = program.read_text()
    slow = executor.submit(time.sleep, 3)
    program.write_text("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller' >&2\nexit 1\n")
    desk._pilots_at = 0.0

    wait_until(lambda: "trying again" in caplog.text)
    assert executor.submit(int, "1").result(30) == 1  # results come all the same
    program.write_text(kept)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    assert slow.result(30) is None
    assert [one.levelno for one in caplog.records if one.name == "windlass"] == [logging.WARNING]
    assert "trying again" in caplog.text


@HERE_ONLY
def test_a_farm_that_cannot_be_read_for_a_while_fails_no_future(
    executor: windlass.Executor, caplog: pytest.LogCaptureFixture
) -> None:
    desk: Desk = executor._desk
    assert executor.submit(int, "1").result(60) == 1
    slow = executor.submit(time.sleep, 2)
    wait_until(slow.running)
    odd = Path(executor.record.folder) / "farm" / "pilots" / "odd.rec"
    odd.mkdir()

    wait_until(lambda: isinstance(desk.problem, SiteNotReady))
    odd.rmdir()

    assert slow.result(60) is None
    assert executor.submit(int, "3").result(60) == 3
    assert caplog.text.count("trying again") == 1


def wait_until(is_so: Callable[[], bool], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
