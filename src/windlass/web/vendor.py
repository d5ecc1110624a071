"""The scripts of others that pages use, which lie in no checkout until they are fetched: are they here, and if not?"""

import shlex
from pathlib import Path

import windlass
from windlass.edges.extras import find_checkout

STATIC = Path(__file__).parent / "static"
VENDOR = STATIC / "vendor"
_WANTED = ("htmx.min.js", "sse.min.js", "uPlot.min.js", "uPlot.min.css")


def is_whole() -> bool:
    return all((VENDOR / name).is_file() for name in _WANTED)


def tell_missing() -> str | None:
    """What does not work, then the command that brings it; None: all is here."""
    if is_whole():
        return None
    return f"the scripts of the pages are not here: no live updates, no zoom in charts. {make_hint()}"


def make_hint() -> str:
    checkout = find_checkout(Path(windlass.__file__))
    if checkout is None:
        return "This Windlass was built without them (WINDLASS_WITHOUT_ASSETS); build it again with npm"
    return f"This fetches them: make -C {shlex.quote(str(checkout))} assets"
