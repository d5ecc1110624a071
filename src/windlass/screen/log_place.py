"""Where one reads in the logs of a run: at the end as it grows, at a line, at a hit. Knows nothing of terminals."""

from collections.abc import Sequence

from windlass.app.watching.reading_logs import OpenLog, open_log
from windlass.app.watching.reading_runs import LogHere
from windlass.app.watching.watch import Watch
from windlass.core.ending.hiding import find_values
from windlass.core.watching.log_lines import Line
from windlass.core.watching.log_search import Hit, Hits
from windlass.core.watching.safe_lines import SafeLine, make_safe

_AHEAD = 4  # times the height is read: lines that repeat become one
_ABOVE_A_HIT = 2
_MOST_HITS = 10_000


class LogPlace:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._name: str | None = None  # None: the newest, also when there is a newer one
        self._at: int | None = None  # the byte at the top; None: the end is followed
        self._hit: int | None = None
        self.run_id: str | None = None
        self.logs: Sequence[LogHere] = ()
        self.lines: tuple[SafeLine, ...] = ()
        self.height = 1
        self.query = ""
        self.hits = Hits()
        self.note = ""

    @property
    def log(self) -> LogHere | None:
        named = next((one for one in self.logs if one.about.name == self._name), None)
        return named or (self.logs[-1] if self.logs else None)

    @property
    def is_end(self) -> bool:
        return self._at is None

    @property
    def hit(self) -> Hit | None:
        return self.hits.hits[self._hit] if self._hit is not None else None

    @property
    def hit_number(self) -> int | None:
        return None if self._hit is None else self._hit + 1

    def show(self, run_id: str | None, logs: Sequence[LogHere]) -> None:
        """Another run is followed from its end; in the same one the place stays."""
        if run_id != self.run_id:
            self.run_id, self._name = run_id, None
            self._begin_anew()
        self.logs = logs
        self.read()

    def move(self, by: int) -> None:
        if by < 0:
            self._go_back(-by)
        elif self._at is not None and self.lines:
            self._at = self.lines[min(by, len(self.lines) - 1)].line.begin
        self.read()

    def go_to_start(self) -> None:
        self._at, self.note = 0, ""
        self.read()

    def follow(self) -> None:
        self._at, self._hit, self.note = None, None, ""
        self.read()

    def change_link(self, by: int) -> None:
        """To the log of an earlier or later link."""
        log = self.log
        if log is None:
            return
        place = min(max(0, list(self.logs).index(log) + by), len(self.logs) - 1)
        self._name = self.logs[place].about.name if place < len(self.logs) - 1 else None
        self._begin_anew()
        self.read()

    def search(self, query: str) -> Hits:
        """May be called in a thread: a long log takes its time."""
        log, run_id = self.log, self.run_id
        if log is None or run_id is None:
            return Hits()
        with open_log(self._watch, run_id, log) as opened:
            return opened.search(query, most=_MOST_HITS)

    def take_hits(self, query: str, hits: Hits) -> None:
        """At the first one from what is shown on; else at the last of all, as one reads a log from its end."""
        self.query, self.hits, self.note = query, hits, ""
        top = self.lines[0].line.begin if self.lines else 0
        after = [place for place, hit in enumerate(hits.hits) if hit.begin >= top]
        self._hit = (after[0] if after else len(hits.hits) - 1) if hits.hits else None
        self._go_to_hit()

    def change_hit(self, by: int) -> None:
        if self.hits.hits:
            begin = self._hit if self._hit is not None else (-1 if by > 0 else 0)
            self._hit, self.note = (begin + by) % len(self.hits.hits), ""
            self._go_to_hit()

    def find_traceback(self) -> None:
        """To the first one."""
        log = self.log
        if log is None or self.run_id is None:
            return
        with open_log(self._watch, self.run_id, log) as opened:
            found = opened.find_traceback()
        self.note = "first traceback" if found is not None else "no traceback in this log"
        if found is not None:
            self._at, self._hit = found, None
        self.read()

    def read(self) -> None:
        log = self.log
        if log is None or self.run_id is None:
            self.lines = ()
            return
        with open_log(self._watch, self.run_id, log) as opened:
            lines = self._read_lines(opened)
        self.lines = make_safe(lines, find_values(self._watch.session.environ))

    def _read_lines(self, opened: OpenLog) -> Sequence[Line]:
        """Who comes to the end follows it."""
        if self._at is not None:
            page = opened.read_from(self._at, most=_AHEAD * self.height)
            if page.has_after or len(page.lines) > self.height or self._is_fixed:
                return page.lines[: self.height]
            self._at = None
        return opened.read_end(most=_AHEAD * self.height).lines[-self.height :]

    @property
    def _is_fixed(self) -> bool:
        """At a hit or a traceback it stays, also when less than a page is left."""
        return self._hit is not None or bool(self.note)

    def _begin_anew(self) -> None:
        self._at, self._hit, self.lines = None, None, ()
        self.query, self.hits, self.note = "", Hits(), ""

    def _go_to_hit(self) -> None:
        if self.hit is not None:
            self._at = self.hit.begin
            self._go_back(_ABOVE_A_HIT)
        self.read()

    def _go_back(self, count: int) -> None:
        top = self._at if self._at is not None else (self.lines[0].line.begin if self.lines else 0)
        log = self.log
        if log is None or self.run_id is None or not top:
            return
        with open_log(self._watch, self.run_id, log) as opened:
            before = opened.read_before(top, most=_AHEAD * count).lines[-count:]
        self._at = before[0].begin if before else 0
