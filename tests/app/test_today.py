"""Today, read from the store: nothing that ended while one was away is passed over."""

import os
import time
from dataclasses import replace

from tests.builders import RECORD
from tests.conftest import Places
from windlass.app.session import Session
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.reading_today import load_today
from windlass.app.watching.watch import Watch
from windlass.core.record import RunState
from windlass.edges.folders import find_folders

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
