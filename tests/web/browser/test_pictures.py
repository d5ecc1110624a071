"""The pictures in the docs, of the sample: WINDLASS_PICTURES=write makes them anew, otherwise they are only taken."""

import os
from pathlib import Path

import pytest

from tests.web.browser.sample import EARLIER, MAIN, SITE, SWEEP, TRACEBACK
from tests.web.browser.visitor import Visitor

_FOLDER = Path(__file__).parents[3] / "docs/images"
_MOST_BYTES = 150_000
# name -> (page, theme, how wide and high)
PICTURES = {
    "dash-today": ("/", "light", (1000, 560)),
    "dash-run": (f"/runs/{MAIN}", "dark", (1000, 1100)),
    "dash-log": (f"/runs/{MAIN}/log?at={TRACEBACK}", "light", (1000, 640)),
    "dash-chain": (f"/runs/{MAIN}/chain", "light", (1000, 620)),
    "dash-compare": (f"/compare?run={MAIN}&run={EARLIER}", "dark", (1000, 820)),
    "dash-sweep": (f"/sweeps/{SWEEP}#best", "light", (800, 580)),
    "dash-site": (f"/sites/{SITE}", "light", (1000, 600)),
    "dash-budget": (f"/budget/{SITE}", "dark", (1000, 600)),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_small_and_there(visitor: Visitor, tmp_path: Path, name: str) -> None:
    path, theme, (width, height) = PICTURES[name]
    page = visitor.go(path, theme=theme)
    if page.locator(".plot").count():
        page.wait_for_selector("html[data-drawn] .plot canvas")
    page.set_viewport_size({"width": width, "height": height})
    folder = _FOLDER if os.environ.get("WINDLASS_PICTURES") == "write" else tmp_path

    page.screenshot(path=folder / f"{name}.png")

    assert 5_000 < (folder / f"{name}.png").stat().st_size < _MOST_BYTES
    assert (_FOLDER / f"{name}.png").exists()
