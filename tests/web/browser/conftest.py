"""The fixtures `chromium`, one for all tests here, `sample`, a dashboard with runs in it, and `visitor`."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.web.browser.sample import fill
from tests.web.browser.visitor import AXE, Visitor
from tests.web.house import House, open_house
from windlass.app.session import Session
from windlass.edges.folders import find_folders

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_HERE = Path(__file__).parent
_FLAGS = (
    "--no-sandbox",  # root has none; the pages are our own
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them on one worker: one browser."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def chromium() -> Iterator["Browser"]:
    """Headless, with a profile of its own. No other event loop runs in this thread while it is open."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here: run tools/browser.sh")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None or not AXE.exists():
        pytest.skip(f"no {'axe-core' if program else 'Chromium'} here: run tools/browser.sh")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Only to be looked at: all tests here share it."""
    folder = tmp_path_factory.mktemp("sample")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "WINDLASS_STATE_DIR": str(folder / "state"),
        "WINDLASS_CONFIG_DIR": str(folder / "config"),
    }
    with Session(folders=find_folders(environ), environ=environ) as session:
        house, thread = open_house(session)
        house.watch.close()  # its sites have the names of real ones: nobody is ever asked
        fill(house)
        yield house
        house.server.should_exit = True
        thread.join(10)


@pytest.fixture
def visitor(chromium: "Browser", sample: House) -> Iterator[Visitor]:
    """Somebody who came in by the token, and looks at the sample."""
    with Visitor(chromium, sample) as visitor:
        yield visitor
