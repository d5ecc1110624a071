"""What is done about a run by a button ends, also where it breaks off, and the next button works."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.builders import RECORD
from tests.conftest import Places
from windlass.app.deeds import Action, Deed, Deeds
from windlass.app.session import Session
from windlass.app.watching.asking import ask_rarely, load_asked
from windlass.core.record import RunRecord
from windlass.edges.folders import find_folders


@pytest.fixture
def session(places: Places) -> Iterator[Session]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        opened.store.save(RECORD)
        yield opened


def do(session: Session, work: Callable[[Session, RunRecord], str]) -> Deed:
    deeds = Deeds(lambda: Session(folders=session.folders, environ=session.environ))
    action = Action(verb="fetch", title="Fetch", means="", is_for=lambda record: True, do=work)
    deed = _wait(deeds, deeds.start(action, RECORD))
    assert deeds.start(action, RECORD).number == deed.number + 1  # nothing of this run is under way any more
    return deed


def _wait(deeds: Deeds, deed: Deed) -> Deed:
    deadline = time.monotonic() + 5
    while not deed.is_over:
        assert time.monotonic() < deadline, "it is under way for ever"
        time.sleep(0.02)
        deed = deeds.find(deed.number) or deed
    return deed


def test_a_deed_that_meets_a_file_it_cannot_read_ends_with_words(session: Session, tmp_path: Path) -> None:
    deed = do(session, lambda *_: (tmp_path / "gone").read_text())

    assert deed.problem is not None
    assert deed.problem.message == f"{tmp_path}/gone: No such file or directory"


def test_a_deed_that_breaks_off_by_a_bug_ends_and_says_so(session: Session) -> None:
    """Its traceback is told too: pytest shows it as a warning."""
    deed = do(session, lambda *_: str(1 // 0))

    assert deed.problem is not None
    assert "a bug of Windlass" in deed.problem.message


def test_a_question_that_meets_a_file_it_cannot_read_ends_with_words(session: Session, tmp_path: Path) -> None:
    look = ask_rarely(session, "here", "hours", (tmp_path / "gone").read_text)

    assert look.problem == f"{tmp_path}/gone: No such file or directory"
    assert not load_asked(session, "here", "hours").is_under_way(session.clock())
