"""With JavaScript off a real run is noted, cancelled and resumed, on pocket: each by a form, and the page says so."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.test_story import wait_for_words
from tests.conftest import Places
from tests.web.browser.visitor import Visitor
from tests.web.house import House
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.core.record import RunRecord, RunState

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_TRAINING = "import time\nprint('first', flush=True)\ntime.sleep(200)\n"
_RUN_FILE = '[run]\nname = "real"\ncommand = "python3 train.py"\n[resources]\ntime = "5m"\ncpus = 1\nmemory = "200M"\n'


@pytest.fixture
def training(house: House, places: Places, tmp_path: Path) -> Iterator[RunRecord]:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(_TRAINING)
    (project / "windlass.toml").write_text(_RUN_FILE)
    record = start_run(house.session, plan_run(house.session, Wanted(project=project, site="here")))
    wait_for_words(house.session, record, b"first")
    yield record
    subprocess.run([places.pocket / "bin" / "scancel", "--me"], check=False, capture_output=True)


@pytest.fixture
def guest_without_script(chromium: "Browser", house: House) -> Iterator[Visitor]:
    with Visitor(chromium, house) as visitor:
        yield visitor


def act(page: "Page", record: RunRecord, title: str) -> str:
    """What the page says in the end."""
    page.get_by_role("link", name=title, exact=True).click()
    page.get_by_role("button", name=f"{title} {record.run_id}").click()
    page.get_by_role("link", name="Back to the run").wait_for()
    status = page.get_by_role("status")
    while "Under way" in (said := str(status.inner_text())):
        page.reload()
    page.get_by_role("link", name="Back to the run").click()
    return said


def test_a_run_is_noted_cancelled_and_resumed(guest_without_script: Visitor, house: House, training: RunRecord) -> None:
    page = guest_without_script.go(f"/runs/{training.run_id}", with_script=False)

    page.get_by_label("Write something down").fill("the rate was too high")
    page.get_by_role("button", name="Keep").click()
    page.wait_for_url(f"**/runs/{training.run_id}#notes")
    page.get_by_text("the rate was too high").wait_for()

    assert "cancelled" in act(page, training, "Cancel")
    while not page.get_by_role("link", name="Resume", exact=True).is_visible():  # it may still save
        assert page.reload() is not None
    assert house.session.store.load(training.run_id).state is RunState.CANCELLED

    assert "again, as job" in act(page, training, "Resume")
    assert len(house.session.store.load(training.run_id).submissions) == 2
    assert guest_without_script.hosts == {"127.0.0.1"}
