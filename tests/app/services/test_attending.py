"""A notebook whose tunnel was closed, and whose job goes on: told by `windlass ps` and among the alarms."""

import os
import socket
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.app.services.foreground import foreground
from tests.job.small_lab import make_small_lab
from tests.waiting import wait_until
from windlass.app.services.attending import find_attended, find_left
from windlass.app.services.opening import open_notebook
from windlass.app.session import Session

WORDS = "nobody on this machine has notebook {} open, and its job goes on"


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_notebook_that_was_left_is_told_until_somebody_comes_back(session: Session, tmp_path: Path) -> None:
    lab = {"PYTHONPATH": str(make_small_lab(tmp_path))}
    with foreground("jupyter", "--on", "here", "--time", "20m", cwd=tmp_path, env=lab) as opened:
        opened.wait_for_address()
        [record] = session.store.list()
        assert find_attended(session, record) is not None
        assert list_left(session) == ()
        assert opened.interrupt() == 130

    assert list_left(session) == ()  # just now
    later = Session(folders=session.folders, environ=os.environ, clock=lambda: session.clock() + 600)
    with later:
        assert list_left(later) == (record.run_id,)

    session.store.swap([(one, replace(one, started=one.started - 3600)) for one in session.store.list() if one.started])
    session.store.keep(f"attended:{record.run_id}", {"at": session.clock() - 3600})
    with foreground("ps", "--cached") as ps:
        assert ps.wait() == 0
    assert WORDS.format(record.run_id) in ps.said
    assert f"come back: windlass jupyter {record.run_id}" in ps.said

    with foreground("jupyter", record.run_id) as again:
        again.wait_for_address()
        with foreground("ps", "--cached") as ps:
            assert ps.wait() == 0
        assert "nobody on this machine" not in ps.said


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_notebook_that_stays_open_behind_a_page_is_attended_only_while_somebody_is_connected(
    session: Session, tmp_path: Path
) -> None:
    lab = {"PYTHONPATH": str(make_small_lab(tmp_path))}
    with foreground("jupyter", "--on", "here", "--time", "20m", cwd=tmp_path, env=lab) as begun:
        begun.wait_for_address()
        assert begun.interrupt() == 130
    [record] = session.store.list()

    def has_come_back() -> bool:
        return (find_attended(session, record) or 0.0) > session.clock() - 1800

    with open_notebook(lambda: Session(folders=session.folders, environ=os.environ), record.run_id) as opened:
        port = urlsplit(opened.wait_for_address(60)).port
        session.store.keep(f"attended:{record.run_id}", {"at": session.clock() - 3600})
        stop = time.monotonic() + 3
        while time.monotonic() < stop:
            assert not has_come_back()
            time.sleep(0.1)

        with socket.create_connection(("127.0.0.1", port)):
            wait_until(has_come_back, "somebody is there again", timeout_s=30)


def list_left(session: Session) -> tuple[str, ...]:
    return tuple(one.run_id for one in find_left(session, session.store.list()))
