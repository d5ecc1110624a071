"""News for open pages: one line when something was seen, as server-sent events; a page then asks for itself again.

An open stream is what tells the watch that somebody looks. It costs no site anything: however many there are, the watch
looks as often as for one.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from windlass.web.desk import Desk

_BEAT_S = 20.0
_LEAST_S = 1.0  # between two words: a burst of news is one


async def stream(desk: Desk, request: Request) -> Response:
    run_id = request.query_params.get("run", "")
    return StreamingResponse(_tell(desk, request, run_id), media_type="text/event-stream")


async def _tell(desk: Desk, request: Request, run_id: str) -> AsyncIterator[str]:
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    viewer = f"stream {secrets.token_hex(8)}"

    def hear() -> None:
        """In a thread of the watch's; a server that ends has no loop any more."""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(news.set)

    unlisten = desk.watch.listen(hear)
    try:
        yield "retry: 3000\nevent: hello\ndata: here\n\n"
        while not await request.is_disconnected():
            desk.watch.attend(viewer, [run_id] if run_id else [])
            try:
                await asyncio.wait_for(news.wait(), _BEAT_S)
            except TimeoutError:
                yield "event: beat\ndata: here\n\n"
                continue
            await asyncio.sleep(_LEAST_S)
            news.clear()
            yield "event: news\ndata: seen\n\n"
    finally:
        unlisten()
        desk.watch.leave(viewer)
