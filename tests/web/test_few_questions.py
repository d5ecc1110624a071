"""Through real pages and their streams of news: a site is asked as rarely for many pages and runs as for one."""

import http.client
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.app.test_watching import SITE, add_counted_site, count_queries, start
from tests.conftest import Places
from tests.web.house import House
from windlass.core.record import RunState

LOOKS = 4  # pocket's pause is a second
FILES_S = 2.0  # between two times that files of runs are read
pytestmark = pytest.mark.slow


@pytest.fixture
def counted(guest: House, places: Places) -> Iterator[House]:
    folder = add_counted_site(places)
    yield guest
    subprocess.run([folder / "scancel", "--me"], check=False, capture_output=True)


def open_stream(house: House, run_id: str) -> http.client.HTTPConnection:
    """As a page does that waits for news, until it is closed."""
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=30)
    cookies = "; ".join(f"{name}={value}" for name, value in house.cookies.items())
    connection.request("GET", f"/news?run={run_id}", headers={"cookie": cookies})
    assert connection.getresponse().status == 200
    return connection


@pytest.mark.parametrize(("runs", "tabs"), [(1, 1), (6, 4)])
def test_the_site_is_asked_no_more_often(counted: House, places: Places, tmp_path: Path, runs: int, tabs: int) -> None:
    ids = [start(counted.session, tmp_path, "sleep 100").run_id for _ in range(runs)]
    paths = ["/", "/runs", f"/sites/{SITE}", *(f"/runs/{one}{page}" for one in ids for page in ("", "/log", "/chain"))]
    host = counted.session.host(counted.session.site(SITE))

    with ExitStack() as open_pages:
        for run_id in ids * tabs:
            open_pages.enter_context(closing(open_stream(counted, run_id)))
        asked, trips, began = count_queries(places), host.round_trips, time.time()
        while count_queries(places) < asked + LOOKS:
            assert time.time() - began < 60
            for path in paths:
                assert counted.get(path).status == 200
        took = time.time() - began

    assert count_queries(places) - asked <= took + 2
    # A look asks for queue and folders at once; files of all runs come together, and of a new viewer at once.
    assert host.round_trips - trips <= 2 * (took + 2) + 3 * (took / FILES_S + 2)
    assert RunState.RUNNING in {counted.session.store.load(one).state for one in ids}
