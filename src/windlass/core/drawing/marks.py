"""How many lines in one picture differ: by colour, by dash and by mark, so that no one of them is needed alone.

The page's script and style sheet hold the same lists (static/charts.js, static/charts.css).
"""

from dataclasses import dataclass

DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 5")
MARKS = ("circle", "square", "triangle", "diamond", "cross", "plus", "wedge")


@dataclass(frozen=True, kw_only=True)
class Theme:
    ground: str
    text: str
    grid: str
    lines: tuple[str, ...]


# Each line has at least 3 to 1 against its ground (WCAG 2.2, 1.4.11).
THEMES = {
    "light": Theme(
        ground="#ffffff",
        text="#4a4e56",
        grid="#e4e0d8",
        lines=("#0a5596", "#a83f00", "#17633a", "#8a2a86", "#8a6500", "#0f6470", "#a51d18", "#50545c"),
    ),
    "dark": Theme(
        ground="#1c1f25",
        text="#a4a9b3",
        grid="#2f343e",
        lines=("#84bdf6", "#ffa26b", "#74d19b", "#eda0e8", "#f0b955", "#6fd3e0", "#ff938a", "#c3c7cf"),
    ),
}

_LIGHT, _DARK = THEMES["light"], THEMES["dark"]


def _join(light: str, dark: str) -> str:
    return f"light-dark({light}, {dark})"


# Of a picture that is part of a page: the page says which.
BOTH = Theme(
    ground=_join(_LIGHT.ground, _DARK.ground),
    text=_join(_LIGHT.text, _DARK.text),
    grid=_join(_LIGHT.grid, _DARK.grid),
    lines=tuple(map(_join, _LIGHT.lines, _DARK.lines)),
)


@dataclass(frozen=True, kw_only=True)
class Style:
    """Of the line with this number: 280 of them differ."""

    colour: int
    dash: str
    mark: str


def choose_style(number: int) -> Style:
    return Style(colour=number % 8, dash=DASHES[number % len(DASHES)], mark=MARKS[number % len(MARKS)])


def make_mark(mark: str, x: float, y: float, size: float = 3.5) -> str:
    """`d` of its outline."""
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "triangle": ((0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
        "wedge": ((0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    }
    if mark in corners:
        return "M" + "L".join(f"{x + size * right:.1f} {y + size * down:.1f}" for right, down in corners[mark]) + "Z"
    if mark == "circle":
        return f"M{x - size:.1f} {y:.1f}a{size} {size} 0 1 0 {2 * size} 0a{size} {size} 0 1 0 {-2 * size} 0Z"
    if mark == "plus":
        return f"M{x - size:.1f} {y:.1f}h{2 * size}M{x:.1f} {y - size:.1f}v{2 * size}"
    return f"M{x - size:.1f} {y - size:.1f}l{2 * size} {2 * size}m0 {-2 * size}l{-2 * size} {2 * size}"
