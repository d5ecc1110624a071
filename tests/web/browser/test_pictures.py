"""The pictures in the docs, of the sample: WINDLASS_PICTURES=write makes them anew, otherwise they are only taken."""

import os
from pathlib import Path

import pytest

from tests.web.browser.sample import MAIN, SITE
from tests.web.browser.visitor import Visitor

_FOLDER = Path(__file__).parents[3] / "docs/images"
_MOST_BYTES = 80_000
# name -> (page, theme, how high)
PICTURES = {
    "dash-today": ("/", "light", 560),
    "dash-run": (f"/runs/{MAIN}", "dark", 640),
    "dash-site": (f"/sites/{SITE}", "light", 600),
    "dash-budget": (f"/budget/{SITE}", "dark", 600),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_and_there(visitor: Visitor, tmp_path: Path, name: str) -> None:
    path, theme, height = PICTURES[name]
    page = visitor.go(path, theme=theme)
    if page.locator(".plot").count():
        page.wait_for_selector("html[data-drawn] .plot canvas")
    page.set_viewport_size({"width": 1000, "height": height})
    folder = _FOLDER if os.environ.get("WINDLASS_PICTURES") == "write" else tmp_path

    page.screenshot(path=folder / f"{name}.png")

    assert 5_000 < (folder / f"{name}.png").stat().st_size < _MOST_BYTES
    assert (_FOLDER / f"{name}.png").exists()
