"""The log of the chosen run on the screen."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from windlass.app.watching.reading_runs import LogHere
from windlass.app.watching.watch import Watch
from windlass.core.watching.log_search import Hits
from windlass.screen.lines import BLANK, Line, make_strip
from windlass.screen.log_place import LogPlace
from windlass.screen.log_words import make_empty, make_log_line, make_log_title

_SIDEWAYS = 20  # columns


class LogView(Widget):
    can_focus = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup,b", "page(-1)"),
        Binding("pagedown,space", "page(1)"),
        Binding("home,g", "first"),
        Binding("end,G", "follow"),
        Binding("left", "sideways(-1)"),
        Binding("right", "sideways(1)"),
    ]

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.place = LogPlace(watch)
        self._clock = watch.session.clock
        self._column = 0
        self._title: Line = ()

    def show(self, run_id: str | None, logs: Sequence[LogHere]) -> None:
        if run_id != self.place.run_id:
            self._column = 0
        self.place.show(run_id, logs)
        self.refresh()

    def tick(self) -> None:
        """The title tells an age: it is drawn anew when that has changed."""
        if self._title != make_log_title(self.place, self._clock()):
            self.refresh(Region(0, 0, self.size.width, 1))

    def action_move(self, by: int) -> None:
        self.place.move(by)
        self.refresh()

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.place.height - 1))

    def action_first(self) -> None:
        self.place.go_to_start()
        self.refresh()

    def action_follow(self) -> None:
        self.place.follow()
        self.refresh()

    def action_sideways(self, direction: int) -> None:
        self._column = max(0, self._column + direction * _SIDEWAYS)
        self.refresh()

    def change_link(self, by: int) -> None:
        self.place.change_link(by)
        self.refresh()

    def change_hit(self, by: int) -> None:
        self.place.change_hit(by)
        self.refresh()

    def find_traceback(self) -> None:
        self.place.find_traceback()
        self.refresh()

    def take_hits(self, query: str, hits: Hits) -> None:
        self.place.take_hits(query, hits)
        self.refresh()

    def on_mouse_scroll_down(self) -> None:
        self.action_move(3)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-3)

    def on_resize(self) -> None:
        self.place.height = max(1, self.size.height - 1)
        self.place.read()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            self._title = make_log_title(self.place, self._clock())
            return make_strip(self._title, width, style="reverse" if self.has_focus else "underline")
        if y > len(self.place.lines):
            return make_strip(make_empty(self.place) if y == 1 else BLANK, width)
        safe, hit = self.place.lines[y - 1], self.place.hit
        is_hit = hit is not None and hit.begin == safe.line.begin
        line = make_log_line(safe, column=self._column, query=self.place.query, is_hit=is_hit)
        return make_strip(line, width)
