"""A service that stays open behind a page or a program: worked for in a thread, and closed from outside."""

import threading
import time
from collections.abc import Callable
from enum import StrEnum

from windlass.app.session import Session
from windlass.edges.files import put_in_words
from windlass.errors import ServiceFailed, WindlassError

_MOST_WORDS = 20
_LEAVE_S = 10.0


class OpenState(StrEnum):
    OPENING = "opening"
    OPEN = "open"
    FAILED = "failed"  # `problem` says why
    ENDED = "ended"  # closed, or its run is over


class Closed(Exception):
    """Somebody has closed it."""


class Opened:
    """Something with an address on this machine, open until `close`, or its run ends. Use it in a `with` block."""

    def __init__(self, open_session: Callable[[], Session], work: Callable[[Session, "Opened"], None]) -> None:
        """work: shows addresses by `show`, and waits by `sleep`, which ends it."""
        self.state = OpenState.OPENING
        self.address = ""
        self.problem: WindlassError | None = None
        self.words: tuple[str, ...] = ()  # what was told, the newest last
        self._open_session, self._work = open_session, work
        self._news = threading.Condition()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="windlass-service", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_over(self) -> bool:
        return self.state in (OpenState.FAILED, OpenState.ENDED)

    def wait_for_address(self, timeout_s: float = 600.0) -> str:
        """When the page answers. Raises why it does not."""
        deadline = time.monotonic() + timeout_s
        with self._news:
            while self.state is OpenState.OPENING:
                if not self._news.wait(max(0.0, deadline - time.monotonic())):
                    words = self.words[-1] if self.words else "nothing was told"
                    raise ServiceFailed(f"no page answers after {timeout_s:g} s: {words}")
        if self.problem is not None:
            raise self.problem
        if self.state is OpenState.ENDED:
            raise ServiceFailed(f"it has ended: {self.words[-1] if self.words else 'it was closed'}")
        return self.address

    def close(self) -> None:
        """Ends it and all that it started; the run goes on."""
        self._is_closed.set()
        self._thread.join(_LEAVE_S)

    def show(self, address: str) -> None:
        self.address = address
        self._become(OpenState.OPEN)

    def sleep(self, seconds: float) -> None:
        if self._is_closed.wait(seconds):
            raise Closed

    def _run(self) -> None:
        problem: WindlassError | None = ServiceFailed("a bug of Windlass's ended it; its traceback is where this began")
        try:
            problem = self._find_end()
        finally:
            self.problem = problem
            self._become(OpenState.ENDED if problem is None else OpenState.FAILED)

    def _find_end(self) -> WindlassError | None:
        """Works until then; what went wrong."""
        try:
            with self._open_session() as session:
                session.tell = self._hear
                self._work(session, self)
        except Closed:
            return None
        except WindlassError as problem:
            return problem
        except OSError as error:
            return put_in_words(error)
        return None

    def _hear(self, words: str) -> None:
        self.words = (*self.words, words)[-_MOST_WORDS:]

    def _become(self, state: OpenState) -> None:
        with self._news:
            self.state = state
            self._news.notify_all()
