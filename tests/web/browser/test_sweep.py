"""The picture of a sweep and its table, linked both ways: with the mouse, and without JavaScript."""

from tests.web.browser.sample import SWEEP
from tests.web.browser.visitor import Visitor

_MARKED = "() => [...document.querySelectorAll('.marked')].map(one => one.id).sort()"
_AIMED = "() => document.querySelector(':target')?.id"
# A place on the line itself, between two axes.
_ON_LINE = """id => {
  const line = document.querySelector(`#${id} .line`), at = line.getPointAtLength(line.getTotalLength() * 0.1);
  const place = at.matrixTransform(line.getScreenCTM());
  return [place.x, place.y];
}"""


def test_a_line_and_its_row_are_marked_together(visitor: Visitor) -> None:
    page = visitor.go(f"/sweeps/{SWEEP}")
    best = page.locator("#trials ~ .scroll tr[id]").first.get_attribute("id") or ""
    number = best.removeprefix("trial-")
    both = [f"strand-{number}", f"trial-{number}"]

    page.locator(f"#{best} td").first.hover()
    assert page.evaluate(_MARKED) == both

    page.locator("h1").hover()
    assert page.evaluate(_MARKED) == []

    page.locator("svg.parallel").scroll_into_view_if_needed()
    page.mouse.move(*page.evaluate(_ON_LINE, f"strand-{number}"))
    assert page.evaluate(_MARKED) == both


def test_a_line_leads_to_its_row_and_back(visitor: Visitor) -> None:
    page = visitor.go(f"/sweeps/{SWEEP}")
    best = page.locator("#trials ~ .scroll tr[id]").first.get_attribute("id") or ""
    number = best.removeprefix("trial-")

    page.locator("svg.parallel").scroll_into_view_if_needed()
    page.mouse.click(*page.evaluate(_ON_LINE, f"strand-{number}"))
    assert page.evaluate(_AIMED) == best

    page.locator(f"#{best} a").click()
    assert page.evaluate(_AIMED) == f"strand-{number}"
