"""The real TensorBoard in a real browser, behind the word in its address: its own scripts find their data."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import windlass
from tests.app.services.events import WRITER
from tests.app.services.venv import find_services
from tests.builders import RECORD
from tests.conftest import Places
from windlass.core.record import RunState
from windlass.edges.folders import find_folders

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WRITE = "\nwriter = Writer('runs/first')\nfor step in range(5): writer.add('loss', step, 1 / (step + 1))\n"


def test_two_runs_are_seen_side_by_side(
    chromium: "Browser", places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{find_services()}/bin:{os.environ['PATH']}")
    names = ("digits-a1", "digits-b2")
    with windlass.Session(folders=find_folders(os.environ), environ=os.environ) as session:
        for name in names:
            folder = tmp_path / "windlass-results" / name
            folder.mkdir(parents=True)
            subprocess.run([sys.executable, "-c", WRITER + WRITE], cwd=folder, check=True)
            session.store.save(replace(RECORD, run_id=name, site="here", project=str(tmp_path), state=RunState.DONE))

        with windlass.services.tensorboard(names, fetched=True, session=session) as board:
            page = chromium.new_page()
            page.goto(board.wait_for_address())
            for name in names:
                page.get_by_text(f"{name}/runs/first").first.wait_for(state="visible")
            page.get_by_text("loss").first.wait_for(state="visible")
            assert page.url.startswith(board.address)
            page.close()
