"""`windlass watch`: stays, and tells what becomes of runs."""

import os
import shutil
import sys
from typing import TYPE_CHECKING

import click

from windlass.cli.opening import open_session
from windlass.cli.output import Output
from windlass.core.watching.standing_units import Service, make_recipe
from windlass.errors import ExitCode

if TYPE_CHECKING:
    from windlass.app.session import Session
    from windlass.core.notices import Event, Notices


@click.command("watch")
@click.option("--on", "site_name", metavar="SITE", help="Only runs at this site; default: all.")
@click.option("--once", is_flag=True, help="Look once and end: for cron, and timers.")
@click.option("--service", type=click.Choice([str(one) for one in Service]), help="Print what makes a system run it.")
@click.option("--test", is_flag=True, help="Tell a notice now, to see whether it arrives.")
@click.pass_obj
def command(output: Output, /, site_name: str | None, once: bool, service: str | None, test: bool) -> int:
    """Stay, and tell when runs start, end, fail, save nothing for long, leave GPUs idle, or use up a budget.

    By the desktop, the terminal, or a command of yours: [notices] in config.toml.
    Each site is asked as rarely as it wishes, with one query for all runs, however many watch.

    \b
    Examples:
      windlass watch
      windlass watch --once                  once, from cron or a timer
      windlass watch --service systemd       a unit to paste
      windlass watch --test
    """
    if service is not None:
        _show_service(output, Service(service))
        return int(ExitCode.OK)
    from windlass.app.watching.standing import look_once, stand_watch, want_notices
    from windlass.core.notices import Notices
    from windlass.edges.settings import load_notices

    with open_session(output) as session:
        session.on_event = lambda event: _show_event(output, event)
        if test:
            return _test(output, session, load_notices(os.environ) or Notices())
        want_notices(session, Notices())
        if once:
            for problem in look_once(session, site_name):
                output.tell(problem)
            return int(ExitCode.OK)
        output.tell("watching; Ctrl-C ends it, and runs go on")
        try:
            stand_watch(session, site_name)
        except KeyboardInterrupt:
            output.tell("no longer watching")
    return int(ExitCode.OK)


def _show_event(output: Output, event: "Event") -> None:
    """One line each, so that another program can read them as they come."""
    if output.as_json:
        import msgspec

        output.show(msgspec.json.encode(event).decode())
        return
    from windlass.app.record_words import format_clock

    hint = f"  ({event.hint})" if event.hint else ""
    output.show(f"{format_clock(event.at)}  {event.text}{hint}")


def _test(output: Output, session: "Session", settings: "Notices") -> int:
    from windlass.app.telling import tell
    from windlass.core.notices import Event, EventKind

    tell(
        session,
        settings,
        Event(
            kind=EventKind.STARTED,
            key="test",
            run_id="test-aaaaa",
            name="test",
            site="here",
            state="running",
            text="test-aaaaa at here: this is how a notice looks",
            at=session.clock(),
        ),
    )
    output.tell("told; what could not be told is said above")
    return int(ExitCode.OK if not session.told_problems else ExitCode.FAILED)


def _show_service(output: Output, service: Service) -> None:
    found = shutil.which("windlass", path=os.environ.get("PATH"))
    recipe = make_recipe(service, [found] if found else [sys.executable, "-m", "windlass"])
    if output.as_json:
        output.show_json({"service": recipe})
        return
    output.show(recipe.text)
    if recipe.path:
        output.tell(f"write this to {recipe.path}, then:")
    for line in recipe.then:
        output.tell(f"  {line}")
