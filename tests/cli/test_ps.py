"""`windlass ps`: whose sites are asked, and what is said where there is nothing to list."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import RECORD
from tests.cli.conftest import Windlass
from tests.conftest import Places
from windlass.app.own_sites import find_own_sites, note_login
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.core.watching.looks import Look
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.edges.store import Store

DONE = replace(RECORD, state=RunState.DONE, site="here")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What ssh was called with, by all that this test starts."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssh").write_text(f'#!/bin/bash\necho "$*" >> {tmp_path}/asked\nexit 255\n')
    (folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path / "asked"


def save(places: Places, record: RunRecord) -> None:
    with Store(places.state / "windlass.db") as store:
        store.save(record)


def test_refresh_asks_no_site_that_the_user_has_nothing_to_do_with(windlass: Windlass, asked: Path) -> None:
    done = windlass("ps", "--refresh")

    assert not asked.exists(), asked.read_text()
    assert "here: 0 runs in its folders" in done.stderr
    assert "windlass ps --refresh --on SITE" in done.stderr


def test_refresh_asks_a_site_with_runs(windlass: Windlass, asked: Path, places: Places) -> None:
    save(places, replace(DONE, site="narval"))

    done = windlass("ps", "--refresh")

    assert "narval was not read" in done.stderr
    assert "daint" not in done.stderr
    assert "narval" in asked.read_text()


def test_a_site_that_wishes_rare_questions_is_not_asked_again_and_the_age_is_said(
    windlass: Windlass, asked: Path, places: Places
) -> None:
    seen = time.time() - 50
    with Store(places.state / "windlass.db") as store:
        store.save(replace(DONE, site="daint", state=RunState.RUNNING))
        store.keep("look:daint", Look(tried=seen, ended=seen, seen=seen))

    done = windlass("ps")

    assert not asked.exists(), asked.read_text()
    assert "daint was asked 5" in done.stderr
    assert "its site file has poll_s = 60" in done.stderr


def test_sites_of_the_user_are_those_he_added_named_logged_in_to_or_has_runs_at(places: Places, tmp_path: Path) -> None:
    (places.config / "config.toml").write_text('[site.daint.resources]\naccount = "x"\n')
    (tmp_path / "windlass.toml").write_text('[run]\ncommand = "true"\nsite = "jureca-dc"\n')
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        assert find_own_sites(session, tmp_path / "elsewhere") == ("daint", "here")
        add_site("mine", '[login]\nhost = "mine.example.org"\n', session.folders)
        note_login(session, "wilson")
        session.store.save(replace(DONE, site="narval"))

        own = find_own_sites(session, tmp_path)

    assert own == ("daint", "here", "jureca-dc", "mine", "narval", "wilson")


def test_a_broken_settings_file_hides_no_other_site(places: Places, tmp_path: Path) -> None:
    (places.config / "config.toml").write_text("[site")
    said: list[str] = []
    with Session(folders=find_folders(os.environ), environ=os.environ, tell=said.append) as session:
        session.store.save(replace(DONE, site="narval"))

        assert find_own_sites(session, tmp_path) == ("here", "narval")

    assert "config.toml" in said[0]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--live",), "no live runs; 1 in all: windlass ps"),
        (("--on", "narval"), "no runs at narval; 1 in all: windlass ps"),
        (("--on", "here", "--live"), "no live runs at here; 1 in all: windlass ps"),
    ],
)
def test_what_was_left_out_is_said(windlass: Windlass, places: Places, args: tuple[str, ...], words: str) -> None:
    save(places, DONE)

    assert windlass("ps", *args).stderr == f"{words}\n"


def test_without_any_run_the_first_command_is_said(windlass: Windlass) -> None:
    assert windlass("ps", "--live").stderr == "no runs yet; start one with: windlass run\n"


def test_after_the_list_was_moved_aside_it_is_said_how_it_comes_back(windlass: Windlass, places: Places) -> None:
    (places.state / "windlass.db").write_text("this is no database, and long enough to be taken for a damaged one" * 99)
    windlass("ps")

    again = windlass("ps")

    assert "windlass.db.damaged-1" in again.stderr
    assert "windlass ps --refresh" in again.stderr
