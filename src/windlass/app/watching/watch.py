"""The one poller: looks at every site that has something to watch, in a thread of its own, while somebody watches.

Whoever shows runs (a page, the terminal's screen, a notebook) says what it looks at (`attend`) and reads the store and
the mirror; how many do so changes nothing about how often a site is asked.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from windlass.app.session import Session
from windlass.app.watching.attention import ATTENTION_S, Attention
from windlass.app.watching.looking import load_look
from windlass.app.watching.mirroring import open_mirror
from windlass.app.watching.site_watch import SiteWatch
from windlass.core.watching.looks import LEAST_S, Look
from windlass.errors import StoreError, WindlassError

FILES_S = 5.0  # between two looks at files of runs; no question to Slurm
_SITES_S = 5.0  # how soon what another process did is noticed
_PEEK_S = 0.05
_SHRINK_EVERY = 60  # of those: how often the mirror is kept from growing too large


class Watch:
    """Asks nothing until somebody attends, and nothing any more when the last one has gone."""

    def __init__(self, session: Session, *, files_s: float = FILES_S) -> None:
        """session: the watch's own; its threads share it."""
        self.session = session
        self.mirror = open_mirror(session)
        self._files_s = files_s
        self._attention = Attention()
        self._sites: dict[str, SiteWatch] = {}
        self._listeners: list[Callable[[], None]] = []
        self._head: threading.Thread | None = None

    def attend(self, viewer: str, runs: Iterable[str] = (), *, for_s: float = ATTENTION_S) -> None:
        """Somebody looks: at everything in short, and at these runs in full. To be told again before it is over."""
        with self._attention.turn:
            if self._head is None:
                self._head = threading.Thread(target=self._work, name="windlass-watch", daemon=True)
                self._head.start()
            self._attention.attend(viewer, runs, for_s=for_s)

    def leave(self, viewer: str) -> None:
        self._attention.leave(viewer)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Called, in another thread, when something new was seen; what comes back ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def looks(self, names: Iterable[str]) -> Mapping[str, Look]:
        """How the last look at each site ended, by whichever process."""
        return {name: load_look(self.session, name) for name in names}

    def await_looks(self, *, within_s: float) -> None:
        """After `attend`: what is shown first is not old, where an answer is near and disturbs nobody: on this machine.

        A site that did not answer the last time is not waited for.
        """
        names = [name for name in {one.site for one in self.session.store.live_runs()} if self._is_ours_alone(name)]
        deadline = time.monotonic() + within_s
        while any(self._is_stale(name) for name in names) and time.monotonic() < deadline:
            time.sleep(_PEEK_S)

    def find_problem(self, name: str) -> str | None:
        """Why files of runs at this site could not be read."""
        return self._sites[name].problem if name in self._sites else None

    def close(self) -> None:
        """Threads that wait for a site's answer end with the process."""
        self._attention.close()

    def _work(self) -> None:
        """A thread for every site with runs that live or are looked at; what other processes wrote is passed on."""
        stamp: object = None
        turns = 0
        while not self._attention.is_closed:
            if self._attention.is_watched:
                turns += 1
                try:
                    self._ensure_sites()
                    fresh = self.session.store.stamp()
                except StoreError:  # whoever shows runs reads the store too, and tells it
                    fresh = None
                if fresh != stamp:
                    stamp = fresh
                    self._tell()
                if turns % _SHRINK_EVERY == 0:
                    self._shrink()
            self._attention.rest(_SITES_S)

    def _ensure_sites(self) -> None:
        names = {one.site for one in self.session.store.live_runs()}
        for run_id in self._attention.runs:
            try:
                names.add(self.session.store.load(run_id).site)
            except StoreError:
                raise
            except WindlassError:  # removed meanwhile
                continue
        for name in sorted(names - self._sites.keys()):
            self._sites[name] = SiteWatch(self.session, name, self._attention, tell=self._tell, files_s=self._files_s)
            self._sites[name].start()

    def _is_ours_alone(self, name: str) -> bool:
        try:
            return self.session.is_pocket(self.session.site(name))
        except WindlassError:  # its file is gone, or wrong
            return False

    def _is_stale(self, name: str) -> bool:
        look = load_look(self.session, name)
        return look.problem is None and look.is_older(LEAST_S, self.session.clock())

    def _shrink(self) -> None:
        for run_id in self.mirror.shrink(spared=self._attention.runs):
            self.session.tell(f"the copy here of {run_id}'s logs was removed to save space; a look brings it back")

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()
