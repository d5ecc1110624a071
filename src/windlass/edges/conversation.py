"""Asking a host whatever happens to its connection: reconnect and ask again where that is safe, and only there."""

import random
import threading
import time
from collections.abc import Callable, Sequence

from windlass.edges.channel import Channel, ChannelClosed
from windlass.edges.host import Reply, Request
from windlass.errors import ConnectionLost, HostUnreachable, WindlassError

# Asked twice they do the same as once. `submit` is not here on purpose, nor are `settle` and `forget_intent`.
IDEMPOTENT = frozenset(
    (
        "close_submission",
        "facts",
        "find_in_file",
        "hash_files",
        "list_files",
        "list_runs",
        "missing_blobs",
        "prepare_run",
        "put_blobs",
        "read",
        "read_new",
        "statuses",
        "submission",
        "touch_stop",
        "try_port",
        "write",
    )
)

PATIENCE_S = 120.0  # without a byte; the deputy gives a sign of life every ten seconds while it works on files
_TRIES = 4
_FIRST_PAUSE_S = 1.0
_FRESH_S = 10 * 60  # the deputy leaves after 15 minutes of silence: before that we start a new one ourselves


class Conversation:
    """What LocalHost and SshHost share: one channel, opened when needed, one round trip for each `ask`."""

    def __init__(
        self,
        name: str,
        *,
        open_channel: Callable[[], Channel],
        explain: Callable[[ChannelClosed], WindlassError],
        tell: Callable[[str], None],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name = name
        self._open_channel = open_channel
        self._explain = explain
        self._tell = tell
        self._pause = pause
        self._channel: Channel | None = None
        self._was_connected = False
        self._lock = threading.RLock()
        self.round_trips = 0

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        if not requests:
            return []
        with self._lock:
            for attempt in range(1, _TRIES + 1):
                try:
                    return self._ask_once(requests)
                except (ChannelClosed, WindlassError) as error:
                    self.close()
                    problem = self._judge(error, requests)
                    if attempt == _TRIES or not self._is_worth_a_retry(problem):
                        raise problem from error
                    pause_s = _FIRST_PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)
                    self._tell(f"{self._name}: {problem.message}; trying again in {pause_s:.0f} s")
                    self._pause(pause_s)
        raise AssertionError("unreachable")

    def close(self) -> None:
        with self._lock:
            if self._channel is not None:
                self._channel.close()
                self._channel = None

    def _ask_once(self, requests: Sequence[Request]) -> list[Reply]:
        if self._channel is not None and time.time() - self._channel.last_used > _FRESH_S:
            self.close()
        if self._channel is None:
            self._channel = self._open_channel()
            self._was_connected = True
        try:
            replies = self._channel.exchange(requests, patience_s=_count_patience_s(requests))
        except (ChannelClosed, WindlassError):
            raise
        except BaseException:
            # Ctrl-C in the midst of it: whoever asks next on this channel would read the answer to this question.
            self.close()
            raise
        self.round_trips += 1
        return replies

    def _judge(self, error: ChannelClosed | WindlassError, requests: Sequence[Request]) -> WindlassError:
        if isinstance(error, WindlassError):
            return error
        unsafe = [request.operation for request in requests[len(error.replies) :] if not _is_idempotent(request)]
        answered = [request for request in requests[: len(error.replies)] if not _is_idempotent(request)]
        if not error.wrote or not (unsafe or answered):
            return self._explain(error)
        if unsafe:
            done = f"it is not known whether this was done: {', '.join(unsafe)}"
        else:
            done = f"this was done: {', '.join(request.operation for request in answered)}"
        message = f"the connection to {self._name} broke in the middle of an answer"
        return _Unclear(message, said=error.words or None, done=done, hint="run the same command again")

    def _is_worth_a_retry(self, problem: WindlassError) -> bool:
        """A password that is missing stays missing; a host never reached is told at once."""
        if isinstance(problem, _Unclear):
            return False
        return isinstance(problem, ConnectionLost) or (self._was_connected and isinstance(problem, HostUnreachable))


class _Unclear(ConnectionLost):
    """Not to be asked again: something may have been done already."""

    __doc__ = ConnectionLost.__doc__


def _is_idempotent(request: Request) -> bool:
    return request.operation in IDEMPOTENT or request.idempotent


def _count_patience_s(requests: Sequence[Request]) -> float:
    return PATIENCE_S + sum(float(request.arguments.get("timeout_s") or 0) for request in requests)
