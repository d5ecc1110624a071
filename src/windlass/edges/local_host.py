"""This very machine as a host: the deputy is a child process of ours."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.channel import Channel, ChannelClosed
from windlass.edges.conversation import Conversation
from windlass.edges.host import Reply, Request
from windlass.edges.start_failure import explain_start
from windlass.errors import ConnectionLost, SiteNotReady, WindlassError


class LocalHost:
    """env: added to our own environment; python: another interpreter than ours, for tests; inside: what starts it."""

    def __init__(
        self,
        name: str = "local",
        *,
        python: str = sys.executable,
        env: Mapping[str, str] | None = None,
        inside: Sequence[str] = (),
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._name = name
        self._argv = [*inside, python, *PYTHON_FLAGS, "-c", BOOTSTRAP]
        self._env = {**os.environ, **env} if env else None
        self._conversation = Conversation(name, open_channel=self._open, explain=self._explain, tell=tell)

    @property
    def name(self) -> str:
        return self._name

    @property
    def round_trips(self) -> int:
        return self._conversation.round_trips

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        return self._conversation.ask(requests)

    def close(self) -> None:
        self._conversation.close()

    def _open(self) -> Channel:
        try:
            return Channel(self._argv, env=self._env)
        except OSError as error:
            raise SiteNotReady(f"cannot start {self._argv[0]}: {error.strerror}") from error

    def _explain(self, closed: ChannelClosed) -> WindlassError:
        if not closed.greeted:
            return explain_start(closed, place="on this machine", python=self._argv[0])
        return ConnectionLost("our helper process on this machine ended", said=closed.words or None)
