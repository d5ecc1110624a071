"""A server that goes away is told by a banner; what was shown stays."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.browser.visitor import Visitor
from tests.web.house import make_run, open_house
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.edges.folders import find_folders
from windlass.web.vendor import VENDOR

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_a_lost_server_is_a_banner_and_not_a_blank(chromium: "Browser", tmp_path: Path) -> None:
    if not VENDOR.exists():
        pytest.skip("run tools/assets.sh")
    environ = {**os.environ, "HOME": str(tmp_path), "WINDLASS_STATE_DIR": str(tmp_path / "state")}
    with Session(folders=find_folders(environ), environ=environ) as session:
        house, thread = open_house(session)
        house.add(make_run("one", state=RunState.RUNNING))
        with Visitor(chromium, house) as visitor:
            page = visitor.go("/")
            assert page.locator("#lost").is_hidden()

            house.watch.close()
            house.server.should_exit = True
            thread.join(10)
            page.locator("#lost").wait_for(state="visible")

            assert "connection to Windlass on this machine is lost" in page.locator("#lost").inner_text()
            assert page.get_by_role("link", name="one").is_visible()
