"""One poller: however many watch, a site is asked as rarely as it wishes, and what one saw all others use."""

import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.app.watching.looking import load_look, look_around, look_at_site
from windlass.app.watching.watch import Watch
from windlass.core.record import RunRecord, RunState
from windlass.core.toml.layers import Flag
from windlass.core.watching.looks import Look
from windlass.edges.folders import find_folders
from windlass.edges.host import Request
from windlass.edges.mirror import Mirror
from windlass.edges.site_files import add_site
from windlass.errors import WindlassError
from windlass.pocket.programs import ensure_bin

SITE = "counted"
COUNTING = """#!/bin/sh
echo asked >> {log}
exec {squeue} "$@"
"""


def add_counted_site(places: Places) -> Path:
    """A site of pocket's whose squeue writes down each time it is called; the folder of its programs."""
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    pocket, folder = ensure_bin(places.pocket), places.pocket / "counted"
    folder.mkdir()
    for program in pocket.iterdir():
        (folder / program.name).symlink_to(program)
    (folder / "squeue").unlink()
    (folder / "squeue").write_text(COUNTING.format(log=folder / "asked", squeue=pocket / "squeue"))
    (folder / "squeue").chmod(0o755)
    text = f'extends = "here"\nroot = "{places.home}/root"\n[software]\nslurm_path = "{folder}"\n'
    add_site(SITE, text, find_folders(os.environ))
    return folder


@pytest.fixture
def session(places: Places) -> Iterator[Session]:
    folder = add_counted_site(places)
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    subprocess.run([folder / "scancel", "--me"], check=False, capture_output=True)


def count_queries(places: Places) -> int:
    log = places.pocket / "counted" / "asked"
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def queries(session: Session, places: Places) -> Callable[[], int]:
    return lambda: count_queries(places)


def start(session: Session, tmp_path: Path, command: str) -> RunRecord:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    flags = (Flag(key="run.command", value=command), Flag(key="resources.time", value="5m"))
    return start_run(session, plan_run(session, Wanted(project=project, site=SITE, flags=flags)))


def test_many_viewers_and_runs_cost_one_query_a_pause(
    session: Session, queries: Callable[[], int], tmp_path: Path
) -> None:
    records = [start(session, tmp_path, "sleep 100") for _ in range(3)]
    asked = queries()
    began = time.time()
    watch = Watch(session, files_s=0.2)
    try:
        for number in range(20):
            watch.attend(f"tab {number}", [one.run_id for one in records])
        wait_until(lambda: queries() >= asked + 3, "three looks")
    finally:
        watch.close()

    # Pocket's own pause is a second: so many looks cannot have been made in less time.
    assert queries() - asked <= time.time() - began + 2
    assert RunState.RUNNING in {session.store.load(one.run_id).state for one in records}


def test_nothing_is_asked_when_nobody_watches(session: Session, queries: Callable[[], int], tmp_path: Path) -> None:
    start(session, tmp_path, "sleep 100")
    watch = Watch(session, files_s=0.2)
    watch.attend("one", for_s=0.5)
    wait_until(lambda: load_look(session, SITE).seen is not None, "a first look")
    wait_until(lambda: not watch._attention.is_watched, "the viewer is forgotten")
    host = session.host(session.site(SITE))
    wait_until(lambda: _is_still(lambda: (queries(), host.round_trips)), "silence")
    watch.close()


def _is_still(count: Callable[[], object]) -> bool:
    """For three of pocket's pauses."""
    before, deadline = count(), time.monotonic() + 3
    while time.monotonic() < deadline:
        if count() != before:
            return False
        time.sleep(0.1)
    return True


def test_who_comes_back_to_this_machine_waits_a_moment_for_a_fresh_look(session: Session, tmp_path: Path) -> None:
    start(session, tmp_path, "sleep 100")
    long_ago = time.time() - 3600
    session.store.keep(f"look:{SITE}", Look(tried=long_ago, ended=long_ago, seen=long_ago))
    watch = Watch(session)

    watch.attend("a page")
    watch.await_looks(within_s=30)
    watch.close()

    seen = load_look(session, SITE).seen
    assert seen is not None
    assert seen > long_ago + 1800


def test_nobody_waits_for_a_site_that_does_not_answer(session: Session, tmp_path: Path) -> None:
    start(session, tmp_path, "sleep 100")
    session.store.keep(f"look:{SITE}", Look(tried=1.0, ended=1.0, seen=1.0, problem="away", failures=20))
    watch, began = Watch(session), time.monotonic()

    watch.await_looks(within_s=30)

    assert time.monotonic() - began < 10


def test_what_one_process_saw_another_uses(session: Session, queries: Callable[[], int], tmp_path: Path) -> None:
    start(session, tmp_path, "sleep 100")
    look_at_site(session, SITE, pause_s=60)
    asked, seen = queries(), load_look(session, SITE).seen

    with Session(folders=find_folders(os.environ), environ=os.environ) as other:
        look = look_at_site(other, SITE, pause_s=60)

    assert queries() == asked
    assert look.seen == seen


def test_who_looks_once_asks_a_site_no_more_often_than_its_file_says(
    session: Session, queries: Callable[[], int], tmp_path: Path
) -> None:
    start(session, tmp_path, "sleep 100")
    add_site("calm", f'extends = "{SITE}"\n[rules]\npoll_s = 600\n', session.folders)
    now, asked = time.time(), queries()
    session.store.keep("look:calm", Look(tried=now - 300, ended=now - 300, seen=now - 300))

    look = look_around(session, ["calm"])["calm"]

    assert (queries(), look.seen) == (asked, now - 300)


def _look_together(barrier: object) -> None:
    with Session(folders=find_folders(os.environ), environ=os.environ) as other:
        other.site(SITE)
        barrier.wait()  # type: ignore[attr-defined]
        look_around(other, [SITE])


def test_of_processes_that_come_together_one_asks(session: Session, queries: Callable[[], int], tmp_path: Path) -> None:
    start(session, tmp_path, "sleep 100")
    asked = queries()
    began = time.time()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    others = [context.Process(target=_look_together, args=(barrier,)) for _ in range(4)]

    for one in others:
        one.start()
    for one in others:
        one.join(60)

    assert [one.exitcode for one in others] == [0] * 4
    assert 1 <= queries() - asked <= 1 + (time.time() - began)  # one a second, as pocket allows


def test_a_site_that_does_not_answer_is_told_with_its_age_and_left_alone(session: Session, tmp_path: Path) -> None:
    record = start(session, tmp_path, "sleep 100")
    look_at_site(session, SITE, pause_s=0)
    seen = load_look(session, SITE).seen
    (tmp_path / "pocket" / "counted" / "squeue").write_text("#!/bin/sh\necho slurm_load_jobs error: away >&2; exit 1\n")

    with pytest.raises(WindlassError):
        look_at_site(session, SITE, pause_s=0)

    look = load_look(session, SITE)
    assert look.seen == seen
    assert look.problem is not None
    assert "squeue" in look.problem
    assert look.failures == 1
    assert not session.store.load(record.run_id).state.is_final


def test_files_of_a_run_are_brought_as_they_grow(session: Session, tmp_path: Path) -> None:
    record = start(session, tmp_path, "echo one; until [ -e go ]; do sleep 0.1; done; echo two")
    watch = Watch(session, files_s=0.2)
    path = f"logs/{record.job_id}_1.out"
    watch.attend("a page", [record.run_id])
    mirror = watch.mirror

    def read() -> bytes:
        found = [name for name in mirror.load(record.run_id).files if name.startswith("logs/")]
        return mirror.read(record.run_id, found[0]) if found else b""

    wait_until(lambda: b"one" in read(), "the first line")
    assert b"two" not in read()
    (Path(record.folder) / "code" / "go").touch()
    wait_until(lambda: b"two" in read(), "the second line")
    watch.close()

    here = {name for name in mirror.load(record.run_id).files if "/" not in name}
    assert {"status.json", "events.jsonl", "plan.json", "run.json", "job-1.sh"} <= here
    assert path.startswith("logs/")
    assert not (session.folders.state / "mirror" / record.run_id / "secrets.env").exists()


def test_one_round_trip_brings_the_files_of_all_runs(session: Session, tmp_path: Path) -> None:
    from windlass.app.watching.mirroring import MUCH, bring

    records = [start(session, tmp_path, f"echo run {number}; sleep 100") for number in range(3)]
    wanted = {one.run_id: MUCH for one in records}
    host = session.host(session.site(SITE))
    host.ask([Request(operation="facts")])
    before = host.round_trips

    bring(session, SITE, wanted, records)

    assert host.round_trips - before == 1
    mirror = Mirror(session.folders.state / "mirror")
    assert all("plan.json" in mirror.load(one.run_id).files for one in records)
