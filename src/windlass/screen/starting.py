"""Opens the screen and leaves the terminal as it was: after q, Ctrl-C, a signal, or a bug."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from windlass.app.session import Session
from windlass.app.watching.watch import Watch
from windlass.screen.plain_letters import speaks_unicode
from windlass.screen.top import Top

_GIVEN = Path("/proc/self/environ")
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def show_top(open_session: Callable[[], Session], *, mouse: bool) -> int:
    """Until the user leaves; the exit code. A bug is raised once the terminal is whole again."""
    with open_session() as session:
        watch = Watch(session)
        app = Top(watch, open_session, is_unicode=speaks_unicode(_find_locale(session.environ)))
        try:
            asyncio.run(_run(app, mouse=mouse))
        finally:
            watch.close()
    if app.bug is not None:
        raise app.bug
    return app.return_code or 0


async def _run(app: Top, *, mouse: bool) -> None:
    """A signal ends it as q does; the exit code is the one shells expect."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, partial(app.exit, return_code=128 + number))
    await app.run_async(mouse=mouse)


def _find_locale(environ: Mapping[str, str]) -> Mapping[str, str]:
    """As the user set it: where the locale is C, Python writes LC_CTYPE=C.UTF-8 into its environment (PEP 538)."""
    try:
        given = _GIVEN.read_bytes()
    except OSError:  # no Linux: its terminals know Unicode
        return environ
    if b"LC_CTYPE=" in given:
        return environ
    return {name: value for name, value in environ.items() if name != "LC_CTYPE"}
