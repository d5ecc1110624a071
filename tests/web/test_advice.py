"""Advice on the pages: written into the project's file by a button, and nothing but what was shown."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import PLAN
from tests.web.house import FORM_KEY, House, make_lazy_gauges, make_run
from windlass.core.codec import to_json
from windlass.core.record import RunState

TEXT = '[run]\ncommand = "python train.py --num-workers 1"  # slow\n'
MARK = re.compile(r'name="mark" value="([^"]+)"')


@pytest.fixture
def file(guest: House, tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "windlass.toml").write_text(TEXT)
    ended = {"created": 900.0, "started": 1000.0, "ended": 4600.0}
    guest.add(make_run("lazy", state=RunState.DONE, project=str(project), **ended))
    plan = replace(PLAN, run_id="lazy", cpus_per_task=12, gpus_per_node=1, command="python train.py --num-workers 1")
    guest.put("lazy", {"plan.json": to_json(plan), **make_lazy_gauges()})
    return project / "windlass.toml"


def find(guest: House, pattern: re.Pattern[str]) -> str:
    found = pattern.search(guest.get("/runs/lazy/advice").text)
    assert found is not None
    return found[1]


def test_it_is_shown_and_written_by_a_button(guest: House, file: Path) -> None:
    assert 'href="/runs/lazy/advice"' in guest.get("/runs/lazy").text
    assert "windlass report lazy --apply" in guest.get("/runs/lazy").text
    assert "+command = &#34;python train.py --num-workers 8&#34;" in guest.get("/runs/lazy/advice").text

    form = {"form_key": find(guest, FORM_KEY), "mark": find(guest, MARK)}
    answer = guest.post("/runs/lazy/advice/write", form)

    assert answer.status == 200
    assert f"Written: {file}" in answer.text
    assert file.read_text() == TEXT.replace("workers 1", "workers 8")
    assert 'href="/runs/lazy/advice"' not in guest.get("/runs/lazy").text
    assert "says so already" in guest.get("/runs/lazy/advice").text


def test_only_what_was_shown_is_written_and_only_by_our_own_page(guest: House, file: Path) -> None:
    form = {"form_key": find(guest, FORM_KEY), "mark": find(guest, MARK)}
    changed = TEXT + "# mine\n"
    file.write_text(changed)

    assert guest.post("/runs/lazy/advice/write", form).status == 400
    assert guest.post("/runs/lazy/advice/write", {**form, "form_key": "other"}).status == 403
    assert file.read_text() == changed


def test_nothing_is_offered_where_the_project_is_not_here(guest: House) -> None:
    guest.add(make_run("away", state=RunState.DONE, project="/no/such/project"))

    assert "/runs/away/advice" not in guest.get("/runs/away").text
    assert "no advice that could be written" in guest.get("/runs/away/advice").text
