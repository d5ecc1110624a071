"""Without a mouse: everything is reached by Tab, seen where one is, and used by Enter."""

from typing import TYPE_CHECKING

import pytest

from tests.web.browser.addresses import PAGES
from tests.web.browser.sample import MAIN
from tests.web.browser.visitor import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Page

_WHERE = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const style = getComputedStyle(at), box = at.getBoundingClientRect();
  return {number: [...document.querySelectorAll("*")].indexOf(at), words: at.innerText || at.value || at.tagName,
          isMarked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
          isSeen: box.width > 0 && box.right > 0 && box.bottom > 0 && box.top < innerHeight};
}"""
_REACHABLE = """() => [...document.querySelectorAll(
  "a[href]:not([tabindex='-1']), button:not([disabled]), input:not([type=hidden]), select, [tabindex='0']")]
  .filter(one => one.checkVisibility()).map(one => [...document.querySelectorAll("*")].indexOf(one))"""
_SHOW = "number => document.querySelectorAll('*')[number].outerHTML.slice(0, 200)"
_MOST = 1500


def walk(page: "Page") -> tuple[list[int], list[str]]:
    """Tab until it begins anew: where one came by, and what was wrong there."""
    if page.locator("[data-source]").count():
        page.wait_for_selector("html[data-drawn]")  # charts bring buttons, which would change the numbers on the way
    numbers: list[int] = []
    wrong = []
    for _ in range(_MOST):
        page.keyboard.press("Tab")
        at = page.evaluate(_WHERE)
        if at is None or at["number"] in numbers:
            break
        numbers.append(at["number"])
        wrong += [f"{at['words']!r} is not marked"] if not at["isMarked"] else []
        wrong += [f"{at['words']!r} is out of sight"] if not at["isSeen"] else []
    return numbers, wrong


@pytest.mark.parametrize("name", PAGES)
def test_tab_reaches_everything_and_shows_where_one_is(visitor: Visitor, name: str) -> None:
    page = visitor.go(PAGES[name])

    numbers, wrong = walk(page)

    missed = set(page.evaluate(_REACHABLE)) - set(numbers)
    assert [page.evaluate(_SHOW, number) for number in sorted(missed)] == []
    assert wrong == []


def test_the_first_key_skips_to_the_content(visitor: Visitor) -> None:
    page = visitor.go("/")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    page.wait_for_url("**/#main")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_run_is_found_and_its_action_confirmed_by_keys_alone(visitor: Visitor) -> None:
    page = visitor.go("/runs")

    page.get_by_role("searchbox").focus()
    page.keyboard.type("resnet50")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=resnet50**")
    page.get_by_role("link", name=MAIN).focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{MAIN}")
    page.get_by_role("link", name="Cancel").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/cancel")

    assert page.get_by_role("heading", level=1).inner_text() == f"Cancel {MAIN}?"
    assert page.get_by_role("button", name=f"Cancel {MAIN}").is_visible()
    assert page.get_by_role("link", name="No, leave it").is_visible()
