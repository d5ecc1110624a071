"""The fixture `house`: an open dashboard; `guest` has come in by the token."""

import os
from collections.abc import Iterator

import pytest

from tests.conftest import Places
from tests.web.house import House, open_house
from windlass.app.session import Session
from windlass.edges.folders import find_folders


@pytest.fixture
def house(places: Places) -> Iterator[House]:
    pytest.importorskip("starlette")
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        opened, thread = open_house(session)
        yield opened
        opened.desk.services.close_all()
        opened.watch.close()
        opened.server.should_exit = True
        thread.join(10)


@pytest.fixture
def guest(house: House) -> House:
    house.enter()
    return house
