"""One element of an SVG. Whatever stands in names and reasons becomes text, never markup."""

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

# What XML 1.0 cannot hold at all: a browser would refuse the whole picture for one of them in the name of a metric.
_NO_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 65534, 65535, *range(55296, 57344)])


def make_element(tag: str, *inside: str, **attributes: object) -> str:
    """inside: elements, or text that `make_text` made. `stroke_width` is written stroke-width, `class_` class."""
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    words = "".join(f" {name}={quoteattr(_clean(_format(value)))}" for name, value in given.items())
    content = "".join(inside)
    return f"<{tag}{words}>{content}</{tag}>" if content else f"<{tag}{words}/>"


def make_text(text: str) -> str:
    return escape(_clean(text))


def make_path(points: Iterable[tuple[float, float | None]]) -> str:
    """`d` of a line through them; it is broken where y is None."""
    words: list[str] = []
    is_down = False
    for x, y in points:
        if y is not None:
            words.append(f"{'L' if is_down else 'M'}{x:.1f} {y:.1f}")
        is_down = y is not None
    return "".join(words)


def _format(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def _clean(text: str) -> str:
    return text.translate(_NO_XML)
