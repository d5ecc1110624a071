"""Who may keep a connection to the server: nobody else's program, and nobody who asks nothing.

Every connection holds an open file, and there are only so many: without the last one the owner gets no answer.
"""

import asyncio
import errno
import logging
import resource
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from windlass.web.peers import find_owner, is_of_another_user

BACKLOG = 64  # asyncio takes so many before it looks at any of them, and complains once for each that it cannot
_ASKS_WITHIN_S = 10.0
_MOST_FILES = 8192  # programs that we start close them one by one
_NO_FILES = (errno.EMFILE, errno.ENFILE)


class Caller(H11Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]  # a Transport, as it says
        if self.client and self.server and is_of_another_user(find_owner(self.client, self.server[1] or 0)):
            self.transport.abort()
        else:
            self.loop.call_later(_ASKS_WITHIN_S, self._end_unless_it_asked)

    def _end_unless_it_asked(self) -> None:
        cycle: object = self.cycle  # None before the first request, whatever its type says
        if cycle is None and not self.transport.is_closing():
            self.transport.abort()


def raise_file_limit() -> None:
    """Of this process, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS has a limit below the one that it tells
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def answer(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
    """Until it is interrupted. That there are too many connections is told once, not as a traceback for each."""
    told: set[int] = set()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_FILES:
            loop.default_exception_handler(context)
        elif error.errno not in told:
            told.add(error.errno)
            words = "%s: the dashboard takes no more connections until some of them have ended"
            logging.getLogger("uvicorn.error").warning(words, error.strerror)

    asyncio.get_running_loop().set_exception_handler(handle)
    await server.serve(sockets=sockets)
