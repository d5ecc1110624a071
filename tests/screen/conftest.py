"""The fixture `stage`."""

import os
from collections.abc import Iterator

import pytest

from tests.conftest import Places
from windlass.app.session import Session
from windlass.app.watching.watch import Watch
from windlass.edges.folders import find_folders

pytest.importorskip("textual")

from tests.screen.stage import Stage


@pytest.fixture
def stage(places: Places) -> Iterator[Stage]:
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        watch = Watch(session)
        yield Stage(session=session, watch=watch)
        watch.close()
