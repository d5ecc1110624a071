"""Pages that have no address to go to, only something that is done before: as good as all others."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.web.browser.sample import BROKEN, fill
from tests.web.browser.test_keyboard import walk
from tests.web.browser.visitor import Visitor, find_violations, fits
from tests.web.house import House, make_run
from tests.web.test_services import NOTEBOOK, open_at
from windlass.core.record import RunState

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def guest_of(chromium: "Browser", house: House) -> Iterator[Visitor]:
    house.watch.close()  # nobody is asked
    fill(house)
    with Visitor(chromium, house) as visitor:
        yield visitor


def assert_is_for_everybody(page: "Page") -> None:
    page.wait_for_load_state("load")
    light = find_violations(page)
    page.emulate_media(color_scheme="dark")
    dark = find_violations(page)
    _, wrong = walk(page)
    page.set_viewport_size({"width": 400, "height": 800})

    assert (light, dark, wrong) == ([], [], [])
    assert fits(page)


def test_a_change_that_was_written(guest_of: Visitor) -> None:
    page = guest_of.go(f"/runs/{BROKEN}/why")
    page.get_by_role("button", name="Write it into windlass.toml").click()
    page.get_by_text("Written:").wait_for()

    assert_is_for_everybody(page)


@pytest.mark.parametrize("with_script", [True, False])
def test_an_action_and_its_end(guest_of: Visitor, house: House, with_script: bool) -> None:
    house.add(make_run("one", state=RunState.RUNNING))  # of a site that is in no file
    page = guest_of.go("/runs/one/cancel", with_script=with_script)
    page.get_by_role("button", name="Cancel one").click()
    page.wait_for_url("**/deeds/1")
    while not with_script and page.get_by_text("Under way").is_visible():
        page.reload()
    page.locator("#deed .bad").wait_for()

    if with_script:
        assert_is_for_everybody(page)


def test_a_notebook_that_is_open(guest_of: Visitor, house: House) -> None:
    house.add(make_run("notebook", state=RunState.RUNNING, command=NOTEBOOK))
    open_at(house, "http://127.0.0.1:8888/lab?token=7f3a9c")
    page = guest_of.go("/runs/notebook/open/jupyter")
    page.get_by_role("button", name="Open JupyterLab").click()
    page.get_by_role("button", name="Go to JupyterLab").wait_for()

    assert_is_for_everybody(page)


def test_a_bug_of_ours(guest_of: Visitor, house: House) -> None:
    house.desk.reader = None  # type: ignore[assignment]  # whatever the bug may be
    page = guest_of.go(f"/runs/{BROKEN}")
    page.get_by_role("heading", name="This page could not be made").wait_for()

    assert_is_for_everybody(page)
