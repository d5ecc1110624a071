"""What pages tell of sites: asked by a button, never more often than the site bears, kept for all."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import RECORD
from tests.conftest import Places
from windlass.app.session import Session
from windlass.app.watching.asking import ask_rarely, load_asked
from windlass.app.watching.site_sheets import ask_budget, ask_site, load_budget, load_site
from windlass.app.watching.why import Told, load_why, write_fix
from windlass.core.finding import Diagnosis, Setting
from windlass.core.record import RunState
from windlass.edges.folders import find_folders
from windlass.errors import HostUnreachable, UsageError
from windlass.pocket.programs import ABSENT

NOW = 1_800_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def open_session(clock: Clock | None = None) -> Session:
    if clock is None:
        return Session(folders=find_folders(os.environ), environ=os.environ)
    return Session(folders=find_folders(os.environ), environ=os.environ, clock=clock)


def test_whoever_presses_again_and_again_asks_once(places: Places) -> None:
    clock = Clock()
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        return 7

    with open_session(clock) as session:
        for _ in range(50):
            ask_rarely(session, "narval", "sheet", ask)
        clock.now += 3600
        ask_rarely(session, "narval", "sheet", ask)

        assert len(asked) == 2
        assert session.store.kept("sheet:narval", kind=int) == 7


def test_here_nothing_is_taken_from_a_slurm_that_is_on_the_path(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    real = tmp_path / "slurm"
    real.mkdir()
    for name in ABSENT:
        (real / name).write_text(f"#!/bin/sh\necho {name} >> {asked}\necho 'root||1|0.9|0.1'\n")
        (real / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{real}:{os.environ['PATH']}")

    with open_session() as session:
        assert ask_site(session, "here").problem is None
        assert ask_budget(session, "here").problem is None
        sheet = load_site(session, "here").sheet

    assert sheet is not None
    assert sheet.shares == ()
    assert not asked.exists(), asked.read_text()


def test_what_was_told_before_stays_when_a_site_does_not_answer(places: Places) -> None:
    clock = Clock()

    def fail() -> object:
        raise HostUnreachable("narval is away", hint="windlass login narval")

    with open_session(clock) as session:
        ask_rarely(session, "narval", "sheet", lambda: 7)
        clock.now += 3600
        look = ask_rarely(session, "narval", "sheet", fail)

        assert (look.problem, look.seen) == ("narval is away", NOW)
        assert load_asked(session, "narval", "sheet") == look
        assert session.store.kept("sheet:narval", kind=int) == 7


def test_the_laptop_itself_tells_its_queues_storage_and_hours(places: Places) -> None:
    with open_session() as session:
        assert load_site(session, "here").sheet is None

        looks = ask_site(session, "here"), ask_budget(session, "here")
        seen, budget = load_site(session, "here"), load_budget(session, "here")

    assert [look.problem for look in looks] == [None, None]
    assert seen.sheet is not None
    assert seen.sheet.queues.queues
    assert seen.asked.seen is not None
    assert budget.budgets is not None
    assert budget.budgets.spending.site == "here"


def test_only_the_change_that_was_shown_is_written(places: Places, tmp_path: Path) -> None:
    file = tmp_path / "windlass.toml"
    file.write_text('[run]\ncommand = "python train.py"\n\n[resources]\ntime = "1h"\n')
    record = replace(RECORD, project=str(tmp_path), state=RunState.OUT_OF_TIME)
    patch = (Setting(key="resources.time", value='"4h"'),)
    with open_session() as session:
        session.store.save(record)
        session.store.keep(
            f"why:{record.run_id}:{record.site}", Told(diagnoses=(Diagnosis(code="D301", message="x", patch=patch),))
        )
        why = load_why(session, record)
        assert why.fix is not None
        assert '+time = "4h"' in why.fix.diff

        file.write_text(file.read_text() + "# mine\n")
        with pytest.raises(UsageError, match="no longer the one that was shown"):
            write_fix(session, record, why.fix.mark)
        assert 'time = "1h"' in file.read_text()

        now = load_why(session, record).fix
        assert now is not None
        write_fix(session, record, now.mark)
        assert 'time = "4h"' in file.read_text()
        assert "# mine" in file.read_text()
