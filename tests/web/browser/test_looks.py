"""Every page in both themes and on a narrow screen: nothing for axe-core to complain of, nothing beyond the window."""

import pytest

from tests.web.browser.addresses import PAGES
from tests.web.browser.visitor import Visitor, find_violations, fits


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(visitor: Visitor, name: str) -> None:
    page = visitor.go(PAGES[name])

    light = find_violations(page)
    page.emulate_media(color_scheme="dark")
    dark = find_violations(page)
    page.set_viewport_size({"width": 400, "height": 800})

    assert (light, dark) == ([], [])
    assert fits(page)
    assert [one for one in visitor.complaints if name != "missing" or "404" not in one] == []
    assert visitor.hosts == {"127.0.0.1"}


@pytest.mark.parametrize("width", [400, 1280])
def test_a_drawing_is_seen_from_top_to_bottom(visitor: Visitor, width: int) -> None:
    page = visitor.go(PAGES["sweep"])
    page.set_viewport_size({"width": width, "height": 900})

    cut = page.locator(".scroll:has(img), .scroll:has(svg)").evaluate_all(
        "all => all.map(one => one.scrollHeight - one.clientHeight)",
    )

    assert cut == [0, 0]


def test_the_chosen_theme_is_as_good_as_the_machines(visitor: Visitor) -> None:
    page = visitor.go("/", theme="light")

    page.get_by_role("button", name="dark").click()
    page.locator("html[data-theme=dark]").wait_for()
    page.wait_for_load_state()

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 27)"
    assert find_violations(page) == []
