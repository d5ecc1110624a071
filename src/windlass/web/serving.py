"""The server: one for each user, on 127.0.0.1; a second `windlass dash` finds the first."""

import asyncio
import http.client
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from windlass.app.session import Session
from windlass.edges.files import save_file
from windlass.edges.run_lock import HeldAlready, hold_run
from windlass.errors import ServerNotStarted

PREFERRED_PORT = 7317
_NAME = "dash"
_STATE = "dash.json"
_WAIT_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Running:
    """A server of this user's."""

    pid: int
    port: int
    token: str

    def make_address(self, to: str = "/") -> str:
        where = "" if to == "/" else f"&to={quote(to, safe='')}"
        return f"http://127.0.0.1:{self.port}/enter?token={self.token}{where}"


def serve(open_session: Callable[[], Session], *, port: int | None, ready: Callable[[Running, bool], None]) -> None:
    """Until it is interrupted. ready: called when pages can be had; True: by another process, and this one is done."""
    with open_session() as session:
        folder = session.folders.state
        try:
            with hold_run(folder, _NAME, waits=False):
                _serve(session, open_session, port=port, ready=ready)
        except HeldAlready:
            ready(_wait_for_other(folder), True)


def find_running(folder: Path) -> Running | None:
    """None where none answers."""
    try:
        told = json.loads((folder / _STATE).read_bytes())
        running = Running(pid=int(told["pid"]), port=int(told["port"]), token=str(told["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return running if _answers(running) else None


def _serve(
    session: Session, open_session: Callable[[], Session], *, port: int | None, ready: Callable[[Running, bool], None]
) -> None:
    import uvicorn

    from windlass.app.watching.watch import Watch
    from windlass.web.application import make_application
    from windlass.web.callers import BACKLOG, Caller, answer, raise_file_limit
    from windlass.web.desk import Desk
    from windlass.web.door import Keys

    opened = _open_socket(port)
    keys, bound = Keys(), int(opened.getsockname()[1])
    running = Running(pid=os.getpid(), port=bound, token=keys.token)
    watch = Watch(session)
    desk = Desk(watch, open_session)
    app = make_application(desk, keys=keys, port=bound)
    config = uvicorn.Config(
        app,
        http=Caller,
        backlog=BACKLOG,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    state = session.folders.state / _STATE
    save_file(state, json.dumps({"pid": running.pid, "port": bound, "token": keys.token}).encode())
    try:
        ready(running, False)
        raise_file_limit()
        asyncio.run(answer(uvicorn.Server(config), [opened]))
    finally:
        desk.services.close_all()
        watch.close()
        state.unlink(missing_ok=True)
        opened.close()


def _open_socket(port: int | None) -> socket.socket:
    """The port that was asked for, or the usual one, or, where that is taken, any."""
    for wanted in [port] if port is not None else [PREFERRED_PORT, 0]:
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind(("127.0.0.1", wanted))
            opened.listen(128)
        except OSError as problem:
            opened.close()
            if wanted in (port, 0):
                hint = "windlass dash --port 0 takes any that is free"
                raise ServerNotStarted(f"port {wanted} cannot be used: {problem.strerror}", hint=hint) from problem
        else:
            return opened
    raise AssertionError("unreachable")


def _answers(running: Running) -> bool:
    from windlass.web.door import TOKEN_HEADER

    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=3)
    try:
        connection.request("GET", "/alive", headers={TOKEN_HEADER: running.token})
        return bool(json.loads(connection.getresponse().read())["pid"] == running.pid)
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return False
    finally:
        connection.close()


def _wait_for_other(folder: Path) -> Running:
    """It may have started a moment ago."""
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        running = find_running(folder)
        if running is not None:
            return running
        time.sleep(0.2)
    hint = f"see who holds it: lsof {folder / _NAME}.lock"
    raise ServerNotStarted("another `windlass dash` is running, but it does not answer", hint=hint)
