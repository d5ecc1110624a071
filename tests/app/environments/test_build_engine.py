"""Building at a site, whatever happens: broken builds, dead builders, full disks, two at once."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.app.environments.builds import GOOD, ID, is_alive, list_builds, read_thing, start_work, work
from tests.edges.places import FULL_PLACES, FullPlace, small_disk
from tests.waiting import wait_until
from windlass_job import faults, wire


def test_what_is_built_is_not_built_again_unless_asked(tmp_path: Path) -> None:
    for again in (False, False, True, True):
        code, told = work(tmp_path, GOOD, again=again)
        assert (code, told["ok"]) == (0, True)

    # The one before is kept for the jobs that are in it, those before that are gone.
    assert list_builds(tmp_path) == ["build-3", "build-4", "source-3", "source-4"]
    assert (tmp_path / wire.ENVS / ID / wire.ENV_CURRENT).readlink() == Path("build-4")


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("echo fine; echo 'ERROR: No matching distribution found for foo' >&2; echo later; exit 1", "No matching"),
        ("set -e; echo one; no-such-program --x; echo two", "no-such-program: command not found"),
        ("echo 'some words'; false", "some words"),
        ("echo 'warning: error: not so bad'; echo \"FATAL: image is damaged\"; exit 255", "FATAL: image is damaged"),
        ("echo 'OSError: [Errno 28] No space left on device'; exit 1", "No space left on device"),
        ("kill -9 $$", "the build was killed"),
    ],
)
def test_a_broken_build_leaves_the_good_one_and_tells_its_first_failing_line(
    tmp_path: Path, script: str, line: str
) -> None:
    work(tmp_path, GOOD)
    card = (tmp_path / wire.ENVS / ID / wire.ENV_CARD).read_bytes()

    code, told = work(tmp_path, script, again=True)

    assert code == 1
    assert line in str(told["problem"])
    assert told["kind"] == ("no-space" if "No space" in line else "build-failed")
    assert list_builds(tmp_path) == ["build-1", "source-1"]
    assert (tmp_path / wire.ENVS / ID / wire.ENV_CARD).read_bytes() == card
    assert read_thing(tmp_path) == "made\n"


@pytest.mark.parametrize("point", faults.BUILD_POINTS)
def test_a_builder_that_is_killed_at_any_point_does_no_harm(tmp_path: Path, point: str) -> None:
    work(tmp_path, GOOD)

    code, _ = work(tmp_path, GOOD.replace("made", "new"), die_at=point, again=True)
    after = read_thing(tmp_path)
    again, told = work(tmp_path, GOOD.replace("made", "third"), again=True)

    assert code == -signal.SIGKILL
    assert after == ("new\n" if point in ("env-swapped", "env-told") else "made\n")
    assert (again, told["ok"], read_thing(tmp_path)) == (0, True, "third\n")
    assert len(list_builds(tmp_path)) == 4
    assert not list((tmp_path / wire.ENVS / ID).glob(".*"))


def test_what_a_killed_builder_had_started_dies_with_it(tmp_path: Path) -> None:
    script = 'sleep 300 & echo $! $$ > "$WINDLASS_PREFIX/pids"; wait'
    pids = tmp_path / wire.ENVS / ID / "build-1" / "pids"
    with start_work(tmp_path, script) as builder:
        wait_until(lambda: pids.exists() and pids.read_text().endswith("\n"), what="the build to start", timeout_s=20)
        started = [int(word) for word in pids.read_text().split()]
        builder.kill()

    wait_until(lambda: not any(is_alive(pid) for pid in started), what="the build to die", timeout_s=10)
    assert work(tmp_path, GOOD)[0] == 0
    assert list_builds(tmp_path) == ["build-2", "source-2"]


@pytest.mark.parametrize("small", FULL_PLACES)
def test_a_full_disk_is_told_and_the_old_one_still_works(tmp_path: Path, small: FullPlace) -> None:
    with small(tmp_path, size_kb=8000) as disk:
        work(disk, GOOD)
        fill = 'head -c 20000000 /dev/zero > "$WINDLASS_PREFIX/big"'
        code, told = work(disk, f"set -e; {fill}", again=True)
        works = read_thing(disk)
        free = os.statvfs(disk)

    assert (code, told["kind"]) == (1, "no-space")
    assert re.search("no space left on device|disk quota exceeded", str(told["problem"]), re.IGNORECASE)
    assert works == "made\n"
    assert free.f_bavail * free.f_frsize > 7_000_000


def test_what_cannot_fit_is_refused_before_it_is_built(tmp_path: Path) -> None:
    with small_disk(tmp_path, size_kb=8000) as disk:
        work(disk, GOOD)
        refused, words = work(disk, GOOD, again=True, needs_bytes=100_000_000)
        works = read_thing(disk)

    assert (refused, words["kind"]) == (1, "no-space")
    assert "needs about 0.1 GB" in str(words["problem"])
    assert works == "made\n"


def test_two_who_want_the_same_build_it_once(tmp_path: Path) -> None:
    count = f'echo x >> "{tmp_path}/count"; sleep 1; {GOOD}'
    both = [start_work(tmp_path, count) for _ in range(2)]

    told = [json.loads(one.communicate(timeout=60)[0].splitlines()[-1]) for one in both]

    assert sorted(one["is_new"] for one in told) == [False, True]
    assert (tmp_path / "count").read_text() == "x\n"
