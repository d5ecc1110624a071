"""Notices of real runs: told by whoever looks, each once, also by two processes at the same time."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import start
from tests.builders import RECORD
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.app.cancelling import cancel_runs
from windlass.app.following import wait
from windlass.app.refreshing import rebuild, refresh_site
from windlass.app.session import Session
from windlass.app.telling import claim, find_idle
from windlass.app.watching.looking import look_at_site
from windlass.app.watching.mirroring import open_mirror
from windlass.app.watching.standing import look_once, stand_watch, want_notices
from windlass.core.gauges.idleness import Idle
from windlass.core.notices import EventKind, Notices, list_events
from windlass.core.record import RunRecord, RunState
from windlass.edges.folders import find_folders

ON_POCKET = pytest.mark.parametrize("session", [ENGINES[0]], indirect=True)
ON_BOTH = pytest.mark.parametrize("session", [ENGINES[0], ENGINES[2]], indirect=True)


@pytest.fixture
def told(tmp_path: Path, places: Places) -> Path:
    """A file that the user's command fills, a line for each event."""
    program = tmp_path / "tell"
    program.write_text(f"#!/bin/bash\ncat >> {tmp_path}/told\n")
    program.chmod(0o755)
    (places.config / "config.toml").write_text(f'[notices]\ncommand = "{program}"\ndesktop = false\n')
    return tmp_path / "told"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text(
        '[run]\nname = "noisy"\ncommand = "sleep 2"\n[resources]\ntime = "2m"\ncpus = 1\nmemory = "200M"\n'
    )
    return folder


def load(told: Path) -> list[tuple[str, str]]:
    if not told.exists():
        return []
    events = [json.loads(line)["event"] for line in told.read_text().splitlines()]
    return [(event["run_id"], event["kind"]) for event in events]


@ON_BOTH
def test_a_run_that_is_followed_tells_its_start_and_its_end(
    session: Session, project: Path, site_name: str, told: Path
) -> None:
    record = wait(session, start(session, project, site_name))

    assert load(told) == [(record.run_id, "started"), (record.run_id, "ended")]


@ON_POCKET
def test_processes_that_look_at_the_same_time_tell_each_thing_once(
    session: Session, project: Path, site_name: str, told: Path
) -> None:
    record = start(session, project, site_name, run__command="exit 4")
    watch = [str(Path(sys.executable).parent / "windlass"), "watch", "--once"]

    def is_over() -> bool:
        lookers = [subprocess.Popen(watch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(3)]
        for one in lookers:
            one.wait(60)
        return session.store.load(record.run_id).state.is_final

    wait_until(is_over, "the end of the run", timeout_s=60)

    kinds = [kind for _, kind in load(told)]
    assert kinds.count("failed") == 1
    assert len(kinds) == len(set(kinds))


@ON_POCKET
def test_what_befell_runs_before_they_were_found_is_no_news(
    session: Session, project: Path, site_name: str, told: Path
) -> None:
    failed = wait(session, start(session, project, site_name, run__command="exit 4"))
    running = start(session, project, site_name, run__command="sleep 4")
    wait_until(lambda: refresh_site(session, site_name, [running])[0].state is RunState.RUNNING, "its start")
    told.unlink()
    for side in ("", "-wal", "-shm"):
        (session.store.path.with_name("windlass.db" + side)).unlink(missing_ok=True)

    with Session(folders=find_folders(os.environ), environ=os.environ) as other:
        rebuild(other, site_name)
        look_once(other)

        assert other.store.load(failed.run_id).state is RunState.FAILED
        assert other.store.load(running.run_id).state is RunState.RUNNING
        assert load(told) == []
        wait(other, other.store.load(running.run_id))
    assert load(told) == [(running.run_id, "ended")]


@ON_POCKET
def test_who_stays_tells_of_runs_that_others_submit(session: Session, project: Path, site_name: str) -> None:
    heard: list[EventKind] = []
    with Session(folders=find_folders(os.environ), environ=os.environ) as watcher:
        assert want_notices(watcher, Notices(desktop=False, terminal=False)).command is None
        watcher.on_event = lambda event: heard.append(event.kind)
        start(session, project, site_name)
        stand_watch(watcher, until=lambda: EventKind.ENDED in heard)

    assert heard[-1] is EventKind.ENDED
    assert heard.count(EventKind.ENDED) == 1


@ON_POCKET
def test_a_mistake_in_the_settings_is_said_once_and_stops_nothing(
    session: Session, project: Path, site_name: str, places: Places
) -> None:
    record = start(session, project, site_name)
    (places.config / "config.toml").write_text('[notices]\ncommand = "nosuch-program-of-mine"\nevents = ["x"]\n')
    said: list[str] = []
    session.tell = said.append

    wait(session, record)

    assert len([line for line in said if "no notices are told" in line]) == 1


@ON_POCKET
def test_a_site_that_cannot_be_asked_is_said(session: Session) -> None:
    assert look_once(session) == []
    session.store.save(replace(RECORD, site="nosuch-site"))

    (problem,) = look_once(session)

    assert problem.startswith("nosuch-site was not asked: ")


@ON_POCKET
def test_an_event_is_claimed_by_one(session: Session) -> None:
    from tests.core.test_notices import ALL, NOW, RUNNING, WAITING

    events = list_events(WAITING, RUNNING, ALL, NOW)

    assert claim(session, RUNNING.run_id, events) == list(events)
    assert claim(session, RUNNING.run_id, events) == []
    other: RunRecord = RUNNING
    assert claim(session, other.run_id + "x", events) == list(events)


@pytest.mark.parametrize("service", ["systemd", "launchd", "cron"])
def test_what_to_paste_for_a_service_names_this_program(service: str) -> None:
    program = Path(sys.executable).parent / "windlass"
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    done = subprocess.run([program, "watch", "--service", service], env=env, capture_output=True, text=True, check=True)

    assert str(program) in done.stdout
    assert "watch" in done.stdout


def write_gauges(record: RunRecord, *, use: float) -> None:
    """As the sampler of a node would have: a row every half minute of the last quarter of an hour."""
    head = {"gauges": 2, "columns": ["t", "memory_mb", "gpu0.use", "gpu1.use"], "gpus": [{"uuid": "a"}, {"uuid": "b"}]}
    now = time.time()
    rows = [[round(now - 900 + 30 * number, 1), 100, use, use] for number in range(31)]
    file = Path(record.folder) / "gauges" / "node-of-test.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in (head, *rows)))


@ON_BOTH
def test_idle_gpus_are_told_once_a_period_and_cost_no_round_trip(
    session: Session, project: Path, site_name: str, told: Path
) -> None:
    record = start(session, project, site_name, run__command="sleep 100")

    def look() -> RunRecord:
        look_at_site(session, site_name, is_urgent=True)
        return session.store.load(record.run_id)

    wait_until(lambda: look().state is RunState.RUNNING and look().link_started is not None, "its start", timeout_s=60)
    running = look()
    assert running.size is not None
    session.store.save(replace(running, size=replace(running.size, gpus=2)))
    write_gauges(running, use=0.0)
    host = session.host(session.site(site_name))
    before = host.round_trips

    for _ in range(3):
        look()

    assert host.round_trips - before == 3
    assert load(told) == [(record.run_id, "started"), (record.run_id, "idle-gpu")]
    assert "its 2 GPUs are 0 % busy in the last 15 min" in told.read_text()

    write_gauges(running, use=70.0)
    look()
    assert len(load(told)) == 2
    cancel_runs(session, [session.store.load(record.run_id)])


@ON_POCKET
def test_gpus_that_work_and_gauges_of_long_ago_are_no_news(session: Session, project: Path, site_name: str) -> None:
    session.notices = Notices(desktop=False, terminal=False)
    heard: list[EventKind] = []
    session.on_event = lambda event: heard.append(event.kind)
    record = replace(RECORD, run_id="calm-k3f9w", state=RunState.RUNNING, site=site_name, link_started=time.time() - 60)
    with open_mirror(session).change(record.run_id) as change:
        text = b'{"gauges": 2, "columns": ["t", "gpu0.use"], "gpus": [{"uuid": "a"}]}\n[1000, 0]\n[1900, 0]\n'
        pieces = {"path": "gauges/n1.jsonl", "pieces": [[0, len(text)]], "end": len(text), "mark": 0}
        change.take({**pieces, "size": len(text), "mtime": 1.0, "is_anew": True}, text)

    assert find_idle(session, record) is None
    session.clock = lambda: 1910.0
    assert find_idle(session, record) is None  # of the link before
    assert find_idle(session, replace(record, link_started=900.0)) == Idle(
        words="its 1 GPU is 0 % busy in the last 15 min", since=1910.0
    )
    assert heard == []
