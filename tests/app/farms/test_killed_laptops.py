"""A laptop that dies while it starts a farm leaves one, which goes on, or none; no task runs twice."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.app.victims import CLIENT_POINTS, Place, Told, farm_and_die, look, resume_and_wait, run_command
from tests.conftest import Places
from windlass.core.record import RunState

COMMANDS = [f"echo {number} >> ran.txt" for number in range(6)]


@pytest.mark.parametrize("point", CLIENT_POINTS)
def test_every_task_runs_once_or_nothing_was_sent(point: str, places: Places, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text('[run]\nname = "many"\ncommand = "true"\n')
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    place = Place(env={**os.environ, **places.env, "WINDLASS_TEST_BEAT_S": "1"}, project=project, site="here")

    assert run_command(farm_and_die, place, point, COMMANDS) == Told()
    seen = run_command(look, place)

    leads = [one for one in seen.records if one.farm == one.run_id and one.state is not RunState.NOT_SUBMITTED]
    assert len(leads) <= 1
    if not leads:
        assert point in ("before-blobs", "after-blobs", "before-saving", "after-saving")
        return
    ended = run_command(resume_and_wait, place, leads[0].run_id)
    assert ended.records, ended.problem
    assert all(one.state is RunState.DONE for one in ended.records)
    ran = Path(leads[0].folder, "code", "ran.txt").read_text().split()
    assert Counter(ran) == Counter(str(number) for number in range(6))
