"""The program: what is on the screen, which key does what, and when it is read anew."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.filter import LineFilter
from textual.message import Message
from textual.widgets import Input

from windlass.app.deeds import ACTIONS, Deed, Deeds
from windlass.app.session import Session
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.watch import Watch
from windlass.core.watching.log_search import Hits
from windlass.errors import WindlassError
from windlass.screen.lines import Line, Lines, clean, say
from windlass.screen.log_view import LogView
from windlass.screen.plain_letters import AsciiOnly
from windlass.screen.questions import Help, Question
from windlass.screen.row_words import make_rows
from windlass.screen.run_list import RunList
from windlass.screen.run_words import make_run_lines
from windlass.screen.seeing import Shown, see
from windlass.screen.site_words import make_head, make_site_lines

_TICK_S = 1.0  # ages are counted on
_LEAST_S = 0.5  # between two readings, whatever happens
_AGAIN_S = 60.0  # it is read anew and said again that somebody looks, also without news
_DEED_S = 0.3
_WORD_S = 20.0  # so long a message stands where the keys are told
_LEAST_LIST, _LEAST_LOG = 4, 6  # lines
_PER_GPU_LINE = 6  # lines of the terminal for each that tells of one GPU or node
_VIEWER = f"top {os.getpid()}"
_KEYS = "Enter log  / search  t traceback  c cancel  r resume  f fetch  ? help  q quit"


class Top(App[None]):
    """Reads in a thread; what is drawn is what was read last, with its age."""

    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False
    AUTO_FOCUS = "RunList"
    CSS_PATH = "top.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit"),
        Binding("ctrl+c,ctrl+q", "quit", priority=True),
        Binding("ctrl+z", "suspend_process"),
        Binding("ctrl+l", "redraw"),
        Binding("question_mark", "help"),
        Binding("tab,shift+tab", "other_side", priority=True),
        Binding("escape", "to_runs"),
        Binding("slash", "search"),
        Binding("n", "hit(1)"),
        Binding("N", "hit(-1)"),
        Binding("t", "traceback"),
        Binding("left_square_bracket", "link(-1)"),
        Binding("right_square_bracket", "link(1)"),
        Binding("c", "ask('cancel')"),
        Binding("r", "ask('resume')"),
        Binding("f", "ask('fetch')"),
    ]

    class News(Message):
        """Something new was seen."""

    class Loaded(Message):
        def __init__(self, shown: Shown) -> None:
            super().__init__()
            self.shown = shown

    class Found(Message):
        def __init__(self, query: str, hits: Hits) -> None:
            super().__init__()
            self.query, self.hits = query, hits

    def __init__(self, watch: Watch, open_session: Callable[[], Session], *, is_unicode: bool) -> None:
        super().__init__(ansi_color=True)
        self._watch = watch
        self._reader = RunReader(watch)
        self._deeds = Deeds(open_session)
        self._shown = Shown()
        self._is_loading = self._is_stale = False
        self._word: tuple[float, Line] | None = None
        self._ascii = () if is_unicode else (AsciiOnly(),)

    def compose(self) -> ComposeResult:
        yield Lines(id="head")
        yield Lines(id="sites")
        yield RunList()
        yield Lines(id="run", first="underline")
        yield LogView(self._watch)
        yield Lines(id="foot")
        with Horizontal(id="search"):
            yield Lines([say("search: ", "bold")])
            yield Input(compact=True)

    def on_mount(self) -> None:
        self._unlisten = self._watch.listen(self._hear)
        self.set_interval(_TICK_S, self._tick)
        self.set_interval(_AGAIN_S / 2, self._attend)
        self.set_interval(_AGAIN_S, self._load)
        self._attend()
        self._load()

    def _hear(self) -> None:
        """In a thread of the watch's."""
        self.post_message(self.News())

    def on_unmount(self) -> None:
        self._unlisten()
        self._watch.leave(_VIEWER)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._ascii]

    @property
    def bug(self) -> Exception | None:
        """For whoever started it: textual itself would print every local variable, secrets too."""
        return self._exception

    def _fatal_error(self) -> None:
        self._close_messages_no_wait()

    # What was seen.

    def on_top_news(self) -> None:
        self._load()

    def on_top_loaded(self, message: Loaded) -> None:
        self._is_loading = False
        self._shown = message.shown
        self._draw()
        seen = message.shown.seen
        self._log_view.show(seen.record.run_id if seen else None, seen.logs if seen else ())
        if self._is_stale or (seen.record.run_id if seen else None) != self._run_list.run_id:
            self.set_timer(_LEAST_S if self._is_stale else 0.01, self._load)

    def on_run_list_chosen(self) -> None:
        self._attend()
        self._load()

    def on_run_list_opened(self) -> None:
        self.screen.add_class("zoomed")
        self._log_view.focus()

    def _attend(self) -> None:
        chosen = self._run_list.run_id
        self._watch.attend(_VIEWER, [chosen] if chosen else [])

    def _load(self) -> None:
        if not self.screen_stack:  # it is just being left
            return
        if self._is_loading:
            self._is_stale = True
            return
        self._is_loading, self._is_stale = True, False
        chosen = self._run_list.run_id
        self.run_worker(lambda: self._load_in_thread(chosen), thread=True, group="loading")

    def _load_in_thread(self, chosen: str | None) -> None:
        self.post_message(self.Loaded(see(self._watch, self._reader, chosen)))

    def _tick(self) -> None:
        if not self.screen_stack:
            return
        self._draw()
        self._log_view.tick()

    def _draw(self) -> None:
        now, shown = self._watch.session.clock(), self._shown
        width = self.size.width
        self.query_one("#head", Lines).show([make_head(shown.today, width)])
        self.query_one("#foot", Lines).show([self._make_foot(now)])
        if shown.today is not None:
            today = replace(shown.today, now=now)
            self.query_one("#sites", Lines).show(make_site_lines(today, shown.problem, now))
            self._run_list.show(make_rows(today))
        elif shown.problem is not None:
            self.query_one("#sites", Lines).show([say(f"! {shown.problem}", "bold red")])
        if shown.seen is not None:
            gpu_lines = self.size.height // _PER_GPU_LINE
            lines = make_run_lines(shown.seen, shown.measured, now, gpu_lines=gpu_lines)
            self.query_one("#run", Lines).show(lines)
        else:
            self.query_one("#run", Lines).show(())
        self._share_room()

    def _share_room(self) -> None:
        """The list takes what it needs, as far as the log keeps its least."""
        others = sum(len(self.query_one(name, Lines).lines) for name in ("#head", "#sites", "#run", "#foot"))
        self._run_list.styles.max_height = max(
            _LEAST_LIST, min(self.size.height // 2, self.size.height - others - _LEAST_LOG)
        )

    def _make_foot(self, now: float) -> Line:
        if self._word is not None and now - self._word[0] < _WORD_S:
            return self._word[1]
        return ((_KEYS, "dim"),)

    @property
    def _run_list(self) -> RunList:
        return self.screen_stack[0].query_one(RunList)

    @property
    def _log_view(self) -> LogView:
        return self.screen_stack[0].query_one(LogView)

    # Keys.

    def action_redraw(self) -> None:
        self.refresh(layout=True)

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_other_side(self) -> None:
        (self._run_list if self._log_view.has_focus and not self.screen.has_class("zoomed") else self._log_view).focus()

    def action_to_runs(self) -> None:
        self.screen.remove_class("zoomed")
        self._close_search()
        self._run_list.focus()

    def action_hit(self, by: int) -> None:
        self._log_view.change_hit(by)

    def action_traceback(self) -> None:
        self._log_view.find_traceback()

    def action_link(self, by: int) -> None:
        self._log_view.change_link(by)

    def action_search(self) -> None:
        self.screen.add_class("searching")
        self.query_one(Input).focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        query = message.value
        self._close_search()
        self._log_view.focus()
        if query:
            self.run_worker(lambda: self._search_in_thread(query), thread=True, group="searching", exclusive=True)

    def on_top_found(self, message: Found) -> None:
        self._log_view.take_hits(message.query, message.hits)

    def _search_in_thread(self, query: str) -> None:
        self.post_message(self.Found(query, self._log_view.place.search(query)))

    def _close_search(self) -> None:
        self.screen.remove_class("searching")
        self.query_one(Input).value = ""

    # What is done about a run: asked first, then done in a thread, then told.

    def action_ask(self, verb: str) -> None:
        action, run_id = ACTIONS[verb], self._run_list.run_id
        if run_id is None:
            self._say("no run is chosen")
            return
        try:
            record = self._watch.session.store.load(run_id)
        except WindlassError as problem:
            self._say(problem.message, "bold red")
            return
        if not action.is_for(record):
            self._say(f"there is nothing to {verb}: {run_id} {record.state.said_of_a_run}")
            return

        def answer(is_wanted: bool | None) -> None:
            if is_wanted:
                self._say(f"{verb} {run_id}: under way …")
                self._wait_for(self._deeds.start(action, record))

        self.push_screen(Question(action, record), answer)

    def _wait_for(self, deed: Deed) -> None:
        now = self._deeds.find(deed.number)
        if now is not None and not now.is_over:
            self.set_timer(_DEED_S, lambda: self._wait_for(deed))
            return
        if now is not None and now.problem is not None:
            hint = f"; {now.problem.hint}" if now.problem.hint else ""
            self._say(f"{now.problem.message}{hint}", "bold red")
        elif now is not None:
            self._say(now.said, "bold")
        self._load()

    def _say(self, text: str, style: str = "bold") -> None:
        self._word = self._watch.session.clock(), ((clean(text), style),)
        self._draw()
