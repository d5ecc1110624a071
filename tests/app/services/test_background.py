"""What is open behind a page or a program: however its thread ends, it is not `opening` for ever."""

import os
from pathlib import Path

import pytest

from tests.conftest import Places
from windlass.app.services.background import Opened, OpenState
from windlass.app.session import Session
from windlass.edges.folders import find_folders
from windlass.errors import ServiceFailed, WindlassError


def open_session() -> Session:
    return Session(folders=find_folders(os.environ), environ=os.environ)


def test_a_disk_that_cannot_be_read_is_told_in_words(places: Places, tmp_path: Path) -> None:
    def work(session: Session, opened: Opened) -> None:
        opened.show((tmp_path / "gone" / "card.json").read_text())

    with Opened(open_session, work) as opened, pytest.raises(WindlassError) as caught:
        opened.wait_for_address(timeout_s=20)

    assert opened.state is OpenState.FAILED
    assert "No such file or directory" in caught.value.message
    assert str(tmp_path / "gone") in caught.value.message


def test_a_session_that_cannot_be_opened_is_told_too(places: Places) -> None:
    def find_no_session() -> Session:
        raise PermissionError(13, "Permission denied", "/nowhere")

    with Opened(find_no_session, lambda session, opened: None) as opened, pytest.raises(WindlassError) as caught:
        opened.wait_for_address(timeout_s=20)

    assert caught.value.message == "/nowhere: Permission denied"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_after_a_bug_nobody_waits_for_it(places: Places) -> None:
    def work(session: Session, opened: Opened) -> None:
        raise ZeroDivisionError

    with Opened(open_session, work) as opened, pytest.raises(ServiceFailed, match="a bug of Windlass's"):
        opened.wait_for_address(timeout_s=20)
