"""A note lies in the run folder and with the record, and another laptop finds it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from tests.app.test_story import start
from tests.builders import RECORD
from windlass.app.following import wait
from windlass.app.noting import add_note
from windlass.app.refreshing import rebuild
from windlass.app.session import Session

ON_POCKET = pytest.mark.parametrize("session", [ENGINES[0]], indirect=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "noted"\ncommand = "true"\n[resources]\ntime = "2m"\n')
    return folder


@ON_POCKET
def test_it_is_in_the_folder_and_another_laptop_finds_it(session: Session, project: Path, site_name: str) -> None:
    record = start(session, project, site_name)
    first = add_note(session, record.run_id, "begins well")
    record = wait(session, record)
    second = add_note(session, record.run_id, "ended \u201cwell\u201d")

    assert (first.problem, second.problem) == (None, None)
    assert session.store.load(record.run_id).notes == (first.note, second.note)
    lines = (Path(record.folder) / "notes.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["begins well", "ended \u201cwell\u201d"]

    session.store.save(replace(session.store.load(record.run_id), notes=(first.note,)))
    rebuild(session, site_name)
    assert session.store.load(record.run_id).notes == (first.note, second.note)
    session.store.delete(record.run_id)
    rebuild(session, site_name)
    assert session.store.load(record.run_id).notes == (first.note, second.note)


@ON_POCKET
def test_where_the_folder_is_gone_it_is_kept_here_and_said(session: Session, site_name: str, tmp_path: Path) -> None:
    session.store.save(replace(RECORD, site=site_name, folder=str(tmp_path / "gone")))

    noted = add_note(session, RECORD.run_id, "purged")

    assert noted.problem is not None
    assert "no run folder" in noted.problem
    assert [one.text for one in session.store.load(RECORD.run_id).notes] == ["purged"]
