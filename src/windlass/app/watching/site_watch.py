"""One site while somebody watches: Slurm is asked as rarely as the site wishes, files of runs are read more often."""

import threading
import time
from collections.abc import Callable

from windlass.app.session import Session
from windlass.app.watching.attention import Attention
from windlass.app.watching.logins import note_login_end
from windlass.app.watching.looking import find_pause_s, load_look, look_at_site
from windlass.app.watching.mirroring import LITTLE, MUCH, bring, is_complete, open_mirror
from windlass.core.record import RunRecord
from windlass.core.watching.looks import stretch
from windlass.edges.files import put_in_words
from windlass.errors import StoreError, WindlassError

_LEAST_REST_S = 0.2
_MOST_PAUSE_S = 600.0  # between two tries to read files at a site that does not answer


class SiteWatch:
    """A thread. What it sees is in the store and in the mirror; `tell` is called when there is something new."""

    def __init__(
        self, session: Session, name: str, attention: Attention, *, tell: Callable[[], None], files_s: float
    ) -> None:
        self._session = session
        self._name = name
        self._attention = attention
        self._tell = tell
        self._files_s = files_s
        self._followed: set[str] = set()  # seen to live: their end is brought too
        self._shown: frozenset[str] = frozenset()
        self._next_look = 0.0
        self._next_files = 0.0
        self._failures = 0
        self.problem: str | None = None  # why files could not be read
        self._thread = threading.Thread(target=self._work, name=f"windlass-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _work(self) -> None:
        while not self._attention.is_closed:
            if self._attention.is_watched:
                try:
                    self._turn()
                except StoreError as problem:  # the store is locked or full: whoever shows runs is told the same
                    self._rest_for(problem)
                except OSError as problem:  # such as a full disk: this thread must not end by it
                    self._rest_for(put_in_words(problem))
            self._attention.rest(max(_LEAST_REST_S, min(self._next_look, self._next_files) - time.monotonic()))

    def _rest_for(self, problem: WindlassError) -> None:
        self.problem = problem.message
        self._next_files = time.monotonic() + self._files_s

    def _turn(self) -> None:
        live = self._session.store.live_runs(self._name)
        if live and time.monotonic() >= self._next_look:
            self._look()
        if not live:
            self._next_look = time.monotonic() + self._files_s
        if time.monotonic() >= self._next_files or self._attention.runs != self._shown:
            self._bring()

    def _look(self) -> None:
        before = load_look(self._session, self._name)
        pause_s = self._files_s
        try:
            pause_s = stretch(find_pause_s(self._session, self._session.site(self._name)), before)
            look = look_at_site(self._session, self._name, pause_s=pause_s)
            note_login_end(self._session, self._name)
            pause_s = look.tried + pause_s - self._session.clock()
            if look == before:
                return
        except WindlassError:  # kept with the look, for all to see
            pass
        finally:
            self._next_look = time.monotonic() + max(_LEAST_REST_S, pause_s)
        self._tell()

    def _bring(self) -> None:
        self._shown = self._attention.runs
        self._next_files = time.monotonic() + self._files_s
        if load_look(self._session, self._name).problem is not None and self._followed:
            return  # Slurm's own pauses say when it is tried again
        records = self._list_wanted()
        wanted = {one.run_id: MUCH if one.run_id in self._shown else LITTLE for one in records}
        try:
            news = bring(self._session, self._name, wanted, records)
        except WindlassError as problem:
            self._failures, self.problem = self._failures + 1, problem.message
            self._next_files = time.monotonic() + min(_MOST_PAUSE_S, self._files_s * 4**self._failures)
            self._tell()
            return
        self._failures, self.problem = 0, None
        if news:
            self._tell()

    def _list_wanted(self) -> list[RunRecord]:
        """Those that live, those seen to live until all of them is here, and those that somebody looks at."""
        mirror = open_mirror(self._session)
        live = [one for one in self._session.store.live_runs(self._name) if one.job_id is not None]
        self._followed |= {one.run_id for one in live}
        others = self._followed.union(self._shown) - {one.run_id for one in live}
        found = [one for run_id in sorted(others) for one in self._load(run_id)]
        for one in found:
            if is_complete(one, mirror.load(one.run_id)):
                self._followed.discard(one.run_id)
        return [*live, *found]

    def _load(self, run_id: str) -> list[RunRecord]:
        try:
            record = self._session.store.load(run_id)
        except StoreError:
            raise
        except WindlassError:  # removed
            self._followed.discard(run_id)
            return []
        return [record] if record.site == self._name else []
