"""The list of runs: one line each, in groups, with a cursor that stays on its run whatever moves around it."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from windlass.screen.lines import BLANK, make_strip
from windlass.screen.row_words import Row


class RunList(Widget):
    can_focus = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup,b", "page(-1)"),
        Binding("pagedown,space", "page(1)"),
        Binding("home,g", "move(-100000)"),
        Binding("end,G", "move(100000)"),
        Binding("enter", "open"),
    ]

    class Chosen(Message):
        """The cursor stands on another run."""

    class Opened(Message):
        """Enter, or a second click."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Row] = ()
        self._cursor: int | None = None
        self._top = 0

    @property
    def run_id(self) -> str | None:
        return self._rows[self._cursor].run_id if self._cursor is not None else None

    def show(self, rows: Sequence[Row]) -> None:
        if rows == self._rows:
            return
        before = self._rows[self._cursor] if self._cursor is not None else None
        has_grown = len(rows) != len(self._rows)
        self._rows = rows
        self._cursor = self._find_again(before)
        self._keep_in_sight()
        self.refresh(layout=has_grown)
        if self.run_id != (before.run_id if before else None):
            self.post_message(self.Chosen())

    def action_move(self, by: int) -> None:
        places = self._list_places()
        if not places:
            return
        now = places.index(self._cursor) if self._cursor in places else 0
        self._go_to(places[min(max(0, now + by), len(places) - 1)])

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.size.height - 1))

    def action_open(self) -> None:
        if self.run_id is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        place = self._top + event.y
        if place in self._list_places():
            self._go_to(place)
            if event.chain > 1:
                self.action_open()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)

    def on_resize(self) -> None:
        self._keep_in_sight()

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        place = self._top + y
        if place >= len(self._rows):
            return make_strip(BLANK, self.size.width)
        is_here = place == self._cursor
        style = "reverse" if is_here and self.has_focus else ""
        return make_strip(((">" if is_here else " ", "bold"), *self._rows[place].line), self.size.width, style=style)

    def _go_to(self, place: int) -> None:
        before, self._cursor = self.run_id, place
        self._keep_in_sight()
        self.refresh()
        if self.run_id != before:
            self.post_message(self.Chosen())

    def _find_again(self, before: Row | None) -> int | None:
        """The same line, or another of the same run, or what stands at its place now."""
        places = self._list_places()
        if not places:
            return None
        if before is not None:
            same = [place for place in places if self._rows[place].key == before.key]
            found = same or [place for place in places if self._rows[place].run_id == before.run_id]
            if found:
                return found[0]
        return min(places, key=lambda place: abs(place - (self._cursor or 0)))

    def _list_places(self) -> list[int]:
        return [place for place, row in enumerate(self._rows) if row.run_id is not None]

    def _keep_in_sight(self) -> None:
        height, cursor = self.size.height, self._cursor or 0
        if not height:  # not shown: it comes back as it was
            return
        first = min(self._list_places(), default=0)
        if cursor == first:
            cursor = 0  # its heading too
        self._top = min(max(self._top, cursor - height + 1), cursor)
        self._top = max(0, min(self._top, len(self._rows) - height))
