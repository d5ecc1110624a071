"""Today, read from the store: nothing that ended while one was away is passed over."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace

from tests.builders import RECORD
from tests.conftest import Places
from windlass.app.session import Session
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.reading_today import load_today
from windlass.app.watching.watch import Watch
from windlass.core.record import RunState
from windlass.edges.folders import find_folders
from windlass.edges.mirror import Mirror

DAY = 86_400.0


def test_a_run_that_was_submitted_before_500_others_is_told_when_it_ends(places: Places) -> None:
    now = time.time()
    month_ago = replace(RECORD, state=RunState.DONE, created=now - 30 * DAY, updated=now)
    chain = replace(month_ago, run_id="chain", ended=now - 60)
    newer = [replace(month_ago, run_id=f"r-{n}", created=now - 20 * DAY + n, ended=now - 10 * DAY) for n in range(501)]
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        session.store.save_many([chain, *newer])
        watch = Watch(session)

        today = load_today(watch, RunReader(watch))

    assert [one.run_id for one in today.ended] == ["chain"]


def test_a_farm_is_one_row_while_a_pilot_lives_though_its_first_ended_long_ago(places: Places) -> None:
    now = time.time()
    lead = replace(
        RECORD, run_id="farm", farm="farm", state=RunState.DONE, created=now - 30 * DAY, ended=now - 20 * DAY
    )
    pilot = replace(lead, run_id="pilot", state=RunState.RUNNING, created=now - 60, started=now - 60, ended=None)
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        session.store.save_many([lead, pilot])
        watch = Watch(session)

        today = load_today(watch, RunReader(watch))

    assert [one.run_id for one in today.running] == ["farm"]


def put_gauges(mirror: Mirror, run_id: str, use: Sequence[int]) -> None:
    """Of one node with one GPU, a row a minute until now."""
    now = time.time() - 60 * len(use)
    lines = ['{"gauges": 2, "columns": ["t", "memory_mb", "gpu0.use"], "gpus": [{"uuid": "GPU-a"}]}']
    content = "\n".join([*lines, *(f"[{now + 60 * at}, 1, {one}]" for at, one in enumerate(use))]).encode() + b"\n"
    about = {"path": "gauges/n1.jsonl", "size": len(content), "mtime": 1.0, "is_anew": True, "mark": 0}
    with mirror.change(run_id) as change:
        change.take({**about, "pieces": [[0, len(content)]], "end": len(content)}, content)


def test_gauges_are_read_again_only_when_a_file_has_grown(places: Places) -> None:
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        watch = Watch(session)
        reader = RunReader(watch)
        put_gauges(watch.mirror, "r", [0] * 14)

        first = reader.load_gauges("r", watch.mirror.load("r"))
        again = reader.load_gauges("r", watch.mirror.load("r"))
        put_gauges(watch.mirror, "r", [0] * 14 + [90])
        later = reader.load_gauges("r", watch.mirror.load("r"))

    assert again is first
    assert [one.idle_gpus for one in (*first, *later)] == [1, 0]


def test_an_idle_gpu_of_a_run_that_goes_on_is_an_alarm_and_of_one_that_ended_is_none(places: Places) -> None:
    now = time.time()
    running = replace(RECORD, run_id="running", state=RunState.RUNNING, created=now, started=now - 900)
    stopped = replace(running, run_id="stopped", state=RunState.OUT_OF_TIME, ended=now - 60)
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        session.store.save_many([running, stopped])
        watch = Watch(session)
        for run_id in ("running", "stopped"):
            put_gauges(watch.mirror, run_id, [0] * 14)

        today = load_today(watch, RunReader(watch))

    assert {(one.kind, one.run_id) for one in today.alarms} == {("idle-gpu", "running"), ("broken-chain", "stopped")}
