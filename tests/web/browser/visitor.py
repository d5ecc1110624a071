"""Somebody at the dashboard with a browser: what they asked for, what popped up, and what axe-core says of the page."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from tests.web.house import House

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

AXE = Path(__file__).parents[3] / ".cache/browser/node_modules/axe-core/axe.min.js"
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 400, "height": 800}
# The best practices too: they are more than WCAG 2.2 AA asks.
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_IS_NARROW = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
_ASK_AXE = """async (tags) => {
  const found = await axe.run(document, {runOnly: {type: "tag", values: tags}});
  const why = node => (node.any[0] || node.all[0] || node.none[0] || {}).message;
  const tell = node => `${node.target.join(" ")} (${why(node)})`;
  return found.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.map(tell).join("; ")}`);
}"""


class Visitor:
    """A context of its own in the browser, and in it a page."""

    def __init__(self, browser: "Browser", house: House) -> None:
        self._browser = browser
        self._house = house
        self._contexts: list[BrowserContext] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.complaints: list[str] = []  # in the console

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        for context in self._contexts:
            context.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._house.port}"

    def go(self, path: str, *, theme: str = "light", with_script: bool = True, is_narrow: bool = False) -> "Page":
        """To a page, by the door."""
        page = self.open(theme=theme, with_script=with_script, is_narrow=is_narrow)
        page.goto(f"{self.address}/enter?token={self._house.keys.token}&to={quote(path, safe='')}")
        page.wait_for_url(lambda url: urlsplit(url).path != "/enter")
        return page

    def open(self, *, theme: str = "light", with_script: bool = True, is_narrow: bool = False) -> "Page":
        """An empty page of somebody who has no token."""
        size: Any = NARROW if is_narrow else WIDE
        scheme: Any = theme
        context = self._browser.new_context(
            color_scheme=scheme, viewport=size, java_script_enabled=with_script, reduced_motion="reduce"
        )
        context.set_default_timeout(15_000)
        self._contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._dismiss)
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _dismiss(self, dialog: "Dialog") -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def hosts(self) -> set[str]:
        """Whoever was asked for anything."""
        parts = (urlsplit(url) for url in self.requests)
        return {part.hostname or "" for part in parts if part.scheme not in ("data", "blob")}


def find_violations(page: "Page") -> list[str]:
    """By axe-core, which comes by the debugger: the page's own rules would not let it in."""
    page.evaluate(AXE.read_text(encoding="utf-8") + "\n;0")
    found: list[str] = page.evaluate(_ASK_AXE, list(_RULES))
    return found


def fits(page: "Page") -> bool:
    """Nothing is wider than the window, once charts have taken the width they were given."""
    deadline = time.monotonic() + 5
    while not (is_narrow := bool(page.evaluate(_IS_NARROW))) and time.monotonic() < deadline:
        page.wait_for_timeout(50)  # not by wait_for_function: the page's own rules forbid what that does
    return is_narrow
