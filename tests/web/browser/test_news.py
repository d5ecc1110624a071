"""A page that is renewed while somebody uses it: what they write, tick, mark or have the focus on stays."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.web.browser.visitor import Visitor
from tests.web.house import House, make_run
from windlass.core.record import RunState
from windlass.web.vendor import VENDOR

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOG = b"".join(b"step %d\n" % at for at in range(500))


@pytest.fixture
def reader(chromium: "Browser", house: House) -> Iterator[Visitor]:
    if not VENDOR.exists():
        pytest.skip("run tools/assets.sh")
    house.add(make_run("one", state=RunState.RUNNING), make_run("two", state=RunState.RUNNING))
    house.put("one", {"logs/45_1.out": LOG})
    house.watch.close()  # news come from the test alone
    with Visitor(chromium, house) as visitor:
        yield visitor


def bring_news(page: "Page", house: House, name: str) -> None:
    """As the stream does it, until the answer is there."""
    house.add(make_run(name, state=RunState.RUNNING))
    page.locator(".htmx-request, .htmx-added, .htmx-settling").first.wait_for(state="detached")
    with page.expect_response(lambda answer: "text/html" in (answer.headers.get("content-type") or "")):
        page.evaluate("htmx.trigger('#main', 'sse:news')")


def test_what_is_ticked_stays_and_news_come_when_it_is_not_any_more(reader: Visitor, house: House) -> None:
    page = reader.go("/runs")
    page.get_by_label("compare one").check()
    page.get_by_label("compare two").check()

    bring_news(page, house, "three")

    page.locator("#held").wait_for(state="visible")
    assert page.get_by_label("compare one").is_checked()
    assert page.get_by_label("compare two").is_checked()
    assert page.get_by_label("compare three").count() == 0

    page.get_by_label("compare one").uncheck()
    page.get_by_label("compare two").uncheck()
    page.get_by_role("heading", level=1).click()
    page.get_by_label("compare three").wait_for()
    assert page.locator("#held").is_hidden()


@pytest.mark.parametrize(("path", "field"), [("/runs", "Name"), ("/runs/one/log", "Find"), ("/runs/one", "Write")])
def test_what_is_typed_stays(reader: Visitor, house: House, path: str, field: str) -> None:
    page = reader.go(path)
    box = page.get_by_label(field)
    box.click()
    bring_news(page, house, "three")  # before the first letter
    page.keyboard.type("res")
    bring_news(page, house, "four")
    page.keyboard.type("net")

    assert box.input_value() == "resnet"
    page.get_by_role("heading", level=1).click()
    bring_news(page, house, "five")
    assert box.input_value() == "resnet"


def test_what_is_chosen_stays(reader: Visitor, house: House) -> None:
    page = reader.go("/runs")
    page.get_by_label("State").select_option(index=1)
    page.get_by_role("heading", level=1).click()

    bring_news(page, house, "three")

    assert page.get_by_label("State").evaluate("one => one.selectedIndex") == 1


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/one"])
def test_the_focus_stays_where_it_was(reader: Visitor, house: House, path: str) -> None:
    """Also on what has no id."""
    page = reader.go(path)
    where = "document.activeElement.outerHTML.slice(0, 60)"
    all_of = page.locator("#main :is(a, button, [tabindex='0'])")
    for number in range(min(all_of.count(), 12)):
        all_of.nth(number).focus()
        before = page.evaluate(where)

        page.evaluate("document.getElementById('main').dataset.old = ''")
        bring_news(page, house, "a-new-one" if number else "another")
        page.locator("#main:not([data-old])").wait_for()

        assert page.evaluate(where) == before


def test_a_log_that_grows_is_seen_at_its_end_until_one_scrolls_back(reader: Visitor, house: House) -> None:
    page = reader.go("/runs/one/log")
    last = page.locator("ol.log > li").last
    is_seen = (
        "one => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight + 1; }"
    )

    assert "step 499" in last.inner_text()
    assert last.evaluate(is_seen)

    house.put("one", {"logs/45_1.out": LOG + b"step 500\nstep 501\n"})
    bring_news(page, house, "three")
    page.get_by_text("step 501").wait_for()
    assert last.evaluate(is_seen)

    line = page.get_by_text("step 300", exact=True)
    page.locator("ol.log").evaluate("log => { log.scrollTop = 2400; }")
    before = line.bounding_box()
    house.put("one", {"logs/45_1.out": LOG + b"step 500\nstep 501\nstep 502\n"})
    bring_news(page, house, "four")
    page.get_by_text("step 502").wait_for()
    assert line.bounding_box() == before
    assert not last.evaluate(is_seen)
