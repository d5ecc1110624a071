"""With JavaScript off: all that is shown can be read, and actions are plain forms."""

import pytest

from tests.web.browser.addresses import PAGES
from tests.web.browser.sample import BROKEN, HOSTILE, MAIN, SITE
from tests.web.browser.visitor import Visitor


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same(visitor: Visitor, name: str) -> None:
    plain = visitor.go(PAGES[name], with_script=False)

    main = plain.locator("main")
    assert main.locator("h1").is_visible()
    assert len(main.inner_text()) > 40
    assert plain.locator("#lost").is_hidden()
    assert visitor.hosts == {"127.0.0.1"}


def test_a_log_is_searched_and_read(visitor: Visitor) -> None:
    page = visitor.go(f"/runs/{MAIN}/log", with_script=False)

    page.get_by_label("Find").fill("CUDA error")
    page.get_by_role("button", name="Show").click()
    assert "1 line with “CUDA error”" in page.locator("main").inner_text()

    page.get_by_role("link", name="First traceback").click()
    assert page.get_by_text("an illegal memory access was encountered").is_visible()


def test_an_action_is_a_form(visitor: Visitor) -> None:
    """It fails here, because no file describes a site of such a name; and says so."""
    page = visitor.go(f"/runs/{HOSTILE}", with_script=False)

    page.get_by_role("link", name="Fetch").click()
    page.get_by_role("button", name=f"Fetch {HOSTILE}").click()
    again = page.get_by_role("link", name="look again")
    back = page.get_by_role("link", name="Back to the run")
    back.wait_for()
    while again.is_visible():
        again.click()
        back.wait_for()

    assert page.url.rpartition("/")[0].endswith("/deeds")


def test_a_fix_is_shown_and_written(visitor: Visitor) -> None:
    page = visitor.go(f"/runs/{BROKEN}/why", with_script=False)
    assert '+memory = "12G"' in page.locator("main").inner_text()

    page.get_by_role("button", name="Write it into windlass.toml").click()

    words = page.locator("main").inner_text()
    assert "Written:" in words
    assert "windlass run --on narval" in words
    assert page.get_by_role("button", name="Write it").count() == 0


def test_hours_are_downloaded_as_a_table(visitor: Visitor) -> None:
    page = visitor.go(f"/budget/{SITE}", with_script=False)

    with page.expect_download() as coming:
        page.get_by_role("link", name="Download all of it as CSV").click()

    assert coming.value.suggested_filename == f"budget-{SITE}.csv"
    assert "resnet50-k3f9w" in coming.value.path().read_text()


def test_the_theme_is_chosen_by_a_form(visitor: Visitor) -> None:
    page = visitor.go("/runs?q=sweep", with_script=False)

    page.get_by_role("button", name="dark").click()

    page.locator("html[data-theme=dark]").wait_for()
    assert page.url.endswith("/runs?q=sweep")
