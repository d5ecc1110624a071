"""Who looks at what: viewers come, say again that they are there, and are forgotten when they do not."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

ATTENTION_S = 60.0  # a viewer that has not been heard of for so long has gone


@dataclass(frozen=True, kw_only=True)
class _Viewer:
    until: float
    runs: frozenset[str]


class Attention:
    """Shared by the threads of a watch; `turn` wakes them when somebody new comes."""

    def __init__(self) -> None:
        self.turn = threading.Condition()
        self.is_closed = False
        self._viewers: dict[str, _Viewer] = {}

    def attend(self, viewer: str, runs: Iterable[str], *, for_s: float) -> None:
        shown = frozenset(runs)
        with self.turn:
            is_new = not shown <= self._list_runs() or not self.is_watched
            self._viewers[viewer] = _Viewer(until=time.monotonic() + for_s, runs=shown)
            if is_new:
                self.turn.notify_all()

    def leave(self, viewer: str) -> None:
        with self.turn:
            self._viewers.pop(viewer, None)

    def close(self) -> None:
        with self.turn:
            self.is_closed = True
            self.turn.notify_all()

    @property
    def is_watched(self) -> bool:
        with self.turn:
            return not self.is_closed and bool(self._list_present())

    @property
    def runs(self) -> frozenset[str]:
        """Those that somebody looks at in full."""
        with self.turn:
            return self._list_runs()

    def rest(self, seconds: float) -> None:
        """Until then, until somebody new comes, or for as long as nobody watches."""
        with self.turn:
            if not self.is_closed:
                self.turn.wait(seconds if self._list_present() else None)

    def _list_present(self) -> list[_Viewer]:
        now = time.monotonic()
        self._viewers = {name: one for name, one in self._viewers.items() if one.until > now}
        return list(self._viewers.values())

    def _list_runs(self) -> frozenset[str]:
        return frozenset(run_id for one in self._list_present() for run_id in one.runs)
