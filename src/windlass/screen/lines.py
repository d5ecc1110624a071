"""Lines of a terminal as plain pieces with styles, and the widget that shows them. Nothing in them is interpreted."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from windlass.core.watching.ansi import strip

Part = tuple[str, str]  # what stands there, and in which style: "bold red"
Line = tuple[Part, ...]

BLANK: Line = ()
_MORE = "…"


def clean(text: str) -> str:
    """One line of whatever somebody else wrote: no escape sequence, no control, no line break."""
    return " ".join(strip(text).split())


def say(text: str, style: str = "") -> Line:
    return ((clean(text), style),)


def cut(text: str, width: int) -> str:
    """No wider than this many cells; what was cut off is seen to be."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + _MORE if width > 0 else ""


def fit(text: str, width: int) -> str:
    """Exactly so wide."""
    return set_cell_size(cut(text, width), width)


def count_cells(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def spread(left: Line, right: Line, width: int) -> Line:
    """One at each end; where both do not fit, the left one is cut."""
    room = max(0, width - count_cells(right) - 1)
    shown = crop(left, room)
    return (*shown, (" " * (room + 1 - count_cells(shown)), ""), *right)


def crop(line: Line, width: int) -> Line:
    kept: list[Part] = []
    for text, style in line:
        room = width - count_cells(tuple(kept))
        if cell_len(text) > room:
            return (*kept, (cut(text, room), style)) if room else tuple(kept)
        kept.append((text, style))
    return tuple(kept)


def make_strip(line: Line, width: int, *, style: str = "") -> Strip:
    """style: under all of it, to the end of the line."""
    under = Style.parse(style)
    segments = [Segment(text, under + Style.parse(own)) for text, own in crop(line, width)]
    return Strip(segments).adjust_cell_length(width, under)


class Lines(Widget):
    """Shows as many of its lines as fit. first: the style under the first of them, where that is a title."""

    def __init__(
        self, lines: Iterable[Line] = (), *, id: str | None = None, classes: str | None = None, first: str = ""
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._first = first
        self.lines: Sequence[Line] = tuple(lines)

    def show(self, lines: Iterable[Line]) -> None:
        """Draws only what has changed."""
        fresh = tuple(lines)
        if fresh != self.lines:
            before, self.lines = self.lines, fresh
            if len(before) != len(fresh):
                self.refresh(layout=True)
            else:
                changed = [y for y in range(len(fresh)) if fresh[y] != before[y]]
                self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self.lines)

    def render_line(self, y: int) -> Strip:
        line = self.lines[y] if y < len(self.lines) else BLANK
        return make_strip(line, self.size.width, style=self._first if y == 0 and line else "")
