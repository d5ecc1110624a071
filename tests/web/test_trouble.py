"""Pages when something is wrong: odd times in a run's own papers, a full disk, a lost store, a bug of ours."""

import os
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.edges.places import fill, small_disk
from tests.web.house import House, make_events, make_run, open_house
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.edges.folders import find_folders
from windlass.edges.store import Store


@pytest.mark.parametrize("t", [-1e18, -1, 0, 1e18])
@pytest.mark.parametrize("page", ["", "/chain", "/why"])
def test_an_odd_time_in_the_events_is_no_reason_to_fail(guest: House, t: float, page: str) -> None:
    guest.add(make_run("one", state=RunState.FAILED, ended=400.0, created=0.0))
    good: list[tuple[float, str, dict[str, object]]] = [
        (100.0, "link_started", {}),
        (300.0, "link_ended", {"outcome": "failed"}),
    ]
    odd: list[tuple[float, str, dict[str, object]]] = [
        (t, "link_started", {"link": -1}),
        (250.0, "saved", {"at": t, "seconds": t}),
        (t, "link_ended", {}),
    ]
    guest.put("one", {"events.jsonl": make_events(*good, *odd)})

    assert guest.get(f"/runs/one{page}").status == 200


def test_a_bug_has_a_page_in_words(guest: House) -> None:
    guest.add(make_run("one", state=RunState.RUNNING))
    guest.desk.reader = None  # type: ignore[assignment]  # whatever the bug may be

    answer = guest.get("/")

    assert answer.status == 500
    assert "This page could not be made" in answer.text
    assert "AttributeError" in answer.text
    assert 'rel="stylesheet"' in answer.text


def test_today_is_shown_on_a_full_disk(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path, size_kb=1024) as disk:
        monkeypatch.setenv("WINDLASS_STATE_DIR", str(disk))
        with Session(folders=find_folders(os.environ), environ=os.environ) as session:
            house, thread = open_house(session)
            try:
                house.enter()
                house.add(make_run("one", state=RunState.FAILED, reason="out of memory", ended=400.0))
                fill(disk)
                answer = house.get("/")
            finally:
                house.watch.close()
                house.server.should_exit = True
                thread.join(10)
    assert answer.status == 200
    assert "Today" in answer.text


def test_pages_show_the_store_that_took_the_place_of_the_one_before(guest: House) -> None:
    guest.add(make_run("before", state=RunState.FAILED))
    assert "before" in guest.get("/runs").text
    path = guest.session.store.path
    for side in ("", "-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    with Store(path) as other:
        other.save(make_run("after", state=RunState.FAILED))

    text = guest.get("/runs").text

    assert "after" in text
    assert "before" not in text
