"""A plan that is refused by what was remembered of a site asks once more before it says so."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.edges.places import small_disk
from windlass.app.planning import Wanted, plan_run
from windlass.app.session import Session
from windlass.core.toml.layers import Flag
from windlass.edges.folders import find_folders

COMMAND = (Flag(key="run.command", value="true"), Flag(key="resources.time", value="1m"))


def test_a_disk_that_has_room_again_refuses_nothing(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, later_s = tmp_path / "project", [0.0]
    project.mkdir()
    with small_disk(tmp_path, size_kb=60_000) as disk:
        monkeypatch.setenv("WINDLASS_STATE_DIR", str(disk))
        with Session(
            folders=find_folders(os.environ), environ=os.environ, clock=lambda: time.time() + later_s[0]
        ) as session:
            full = plan_run(session, Wanted(project=project, flags=COMMAND))
            subprocess.run(["mount", "-o", "remount,size=900M", str(disk)], check=True)
            at_once = plan_run(session, Wanted(project=project, flags=COMMAND))
            later_s[0] = 60.0
            later = plan_run(session, Wanted(project=project, flags=COMMAND))

    assert [one.code for one in full.errors] == ["C402"]
    assert [one.code for one in at_once.errors] == ["C402"], "asked a moment ago"
    assert later.errors == ()
