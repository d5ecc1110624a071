"""Charts in a real browser: cursor and zoom by keyboard, what is said, fresh points, and no script at all."""

import json
import shutil
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.web.house import House, make_run
from windlass.core.record import RunState
from windlass.web.vendor import VENDOR

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow
RUN = "/runs/one?x=step"


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None or not (VENDOR / "uPlot.min.js").exists():
        pytest.skip("no Chromium, or no uPlot (tools/assets.sh), here")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def make_metrics(count: int) -> bytes:
    return "".join(json.dumps({"step": at, "t": 1000 + at, "loss": 100 - at}) + "\n" for at in range(count)).encode()


def visit(house: House, context: "BrowserContext", path: str = RUN) -> "Page":
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.goto(f"http://127.0.0.1:{house.port}/enter?token={house.keys.token}&to={quote(path, safe='')}")
    page.wait_for_url(lambda url: "/enter" not in url)
    return page


@pytest.fixture
def charted(house: House) -> House:
    house.add(make_run("one", state=RunState.RUNNING))
    house.put("one", {"metrics/1.0.jsonl": make_metrics(50)})
    return house


def test_a_chart_is_read_and_zoomed_by_keyboard(charted: House, browser: "Browser") -> None:
    with browser.new_context(reduced_motion="reduce") as context:
        page = visit(charted, context)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.wait_for_selector("html[data-drawn] .plot canvas")
        plot, said = page.locator(".plot"), page.locator(".said")

        plot.focus()
        for keys, heard in (
            (("Home",), "step 0: 100"),
            (("ArrowRight", "ArrowRight", "ArrowLeft"), "step 1: 99"),
            (("PageDown",), "step 6: 94"),
            (("End",), "step 49: 51"),
            (("Home", "+"), "from step 0 to step 24.5"),
            (("0",), "all of it"),
        ):
            for key in keys:
                plot.press(key)
            page.locator(".said", has_text=heard).wait_for(state="attached")
        assert said.get_attribute("role") == "status"
        assert plot.get_attribute("aria-roledescription") == "chart"
        assert errors == []


def press_until_heard(page: "Page", key: str, heard: str) -> None:
    """The points come into the chart a moment after the words beside it, and the key asks what is there now."""
    deadline = time.monotonic() + 20
    while page.locator(".said", has_text=heard).count() == 0:
        assert time.monotonic() < deadline, page.locator(".said").all_text_contents()
        page.locator(".plot").press(key)
        page.wait_for_timeout(1500)


def test_new_points_come_into_the_same_chart(charted: House, browser: "Browser") -> None:
    with browser.new_context() as context:
        page = visit(charted, context)
        page.wait_for_selector("html[data-drawn] .plot canvas")
        page.locator(".plot").focus()
        page.locator(".plot").press("Home")
        page.locator("details summary").click()
        page.evaluate("document.querySelector('.plot canvas').dataset.same = 'yes'")

        charted.put("one", {"metrics/1.0.jsonl": make_metrics(60)})
        charted.add(make_run("one", state=RunState.RUNNING, reason="told anew"))  # what the watch notices, and tells

        page.get_by_text("told anew").wait_for()
        page.locator(".summary", has_text="60 points").wait_for()
        press_until_heard(page, "End", "step 59: 41")
        assert page.locator(".plot canvas").get_attribute("data-same") == "yes"
        assert page.locator("details[open]").count() == 1


RECORD = """
window.written = [];
window.points = 0;
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (words, ...rest) {
  window.written.push(words);
  return write.call(this, words, ...rest);
};
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...rest) {
  window.written = [];  // it is drawn anew
  return clear.call(this, ...rest);
};
const arc = Path2D.prototype.arc;
Path2D.prototype.arc = function (...rest) {
  window.points += 1;
  return arc.call(this, ...rest);
};
"""


def draw_short(house: House, context: "BrowserContext", values: list[float | str], path: str) -> "Page":
    """A second or so of a run, with what is written on its charts on record."""
    rows = (json.dumps({"step": at, "t": 1000 + at / 4, "loss": value}) + "\n" for at, value in enumerate(values))
    house.add(make_run("one", state=RunState.RUNNING))
    house.put("one", {"metrics/1.0.jsonl": "".join(rows).encode()})
    context.add_init_script(RECORD)
    page = visit(house, context, path)
    page.wait_for_selector("html[data-drawn] .plot canvas")
    page.wait_for_function("window.written.length > 0")
    return page


def test_no_time_is_written_twice_below_a_short_run(house: House, browser: "Browser") -> None:
    with browser.new_context() as context:
        written = draw_short(house, context, [1, 2, 3, 4, 5, 6], "/runs/one?x=time").evaluate("window.written")

    clocks = [words for words in written if ":" in words]
    assert clocks
    assert len(clocks) == len(set(clocks))


def test_what_is_always_nothing_is_drawn_from_nothing_to_one(house: House, browser: "Browser") -> None:
    with browser.new_context() as context:
        written = draw_short(house, context, [0.0] * 6, RUN).evaluate("window.written")

    assert "0.2" in written
    assert "100" not in written


def test_a_value_between_two_gaps_is_a_point(house: House, browser: "Browser") -> None:
    with browser.new_context() as context:
        page = draw_short(house, context, ["nan", 2.0, "nan", "nan"], RUN)

        assert page.evaluate("window.points") > 0


def test_a_page_that_was_opened_before_the_first_number_draws_it(house: House, browser: "Browser") -> None:
    house.add(make_run("one", state=RunState.RUNNING))
    with browser.new_context() as context:
        with context.expect_event("response", lambda answer: "/news" in answer.url):
            page = visit(house, context)

        house.put("one", {"metrics/1.0.jsonl": make_metrics(50)})
        house.add(make_run("one", state=RunState.RUNNING, reason="told anew"))  # what the watch notices, and tells

        page.locator(".plot canvas").wait_for()
        assert page.evaluate("document.styleSheets.length") == 3


def test_without_a_script_there_is_a_picture_and_a_table(charted: House, browser: "Browser") -> None:
    with browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900}) as context:
        page = visit(charted, context)

        picture = page.locator("img.picture")
        picture.scroll_into_view_if_needed()
        page.locator("details summary").click()

        box = picture.bounding_box()
        assert box is not None
        assert box["width"] == 720  # all pictures have letters of one size
        assert page.locator("details table tbody tr").count() == 20
        assert page.get_by_text("all 50 rows").is_visible()
