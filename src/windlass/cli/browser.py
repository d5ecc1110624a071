"""Opening a page whose address holds a key."""

import contextlib
import html
import os
import threading
import webbrowser
from pathlib import Path

import click

from windlass.cli.output import Output
from windlass.edges.files import save_file
from windlass.edges.runtime_folder import find_runtime_folder, make_private_folder
from windlass.errors import WindlassError

_READ_S = 120.0  # a browser that has to start first takes its time


def open_browser(output: Output, address: str, *, stays: bool = True) -> None:
    """By a page that only its user can read: what is on a command line others may see.

    stays: this program goes on, and removes the page when the browser has long read it, or with its own end.
    """
    try:
        page = save_opening_page(address)
        if stays:
            _remove_later(page)
        is_open = webbrowser.open(page.as_uri())
    except (WindlassError, OSError, webbrowser.Error) as problem:  # what was started goes on without a browser
        output.tell(str(problem))
        is_open = False
    if not is_open:
        output.tell("no browser could be opened: the address above goes into one")


def save_opening_page(address: str) -> Path:
    """It goes on to the address by itself."""
    folder = find_runtime_folder(os.environ, os.getuid())
    make_private_folder(folder)
    page = folder / "open.html"
    text = f'<meta http-equiv="refresh" content="0;url={html.escape(address)}">'
    save_file(page, text.encode(), mode=0o600)
    return page


def _remove_later(page: Path) -> None:
    written = page.read_bytes()

    def remove() -> None:
        with contextlib.suppress(OSError):
            if page.read_bytes() == written:  # and not what another program has just opened
                page.unlink()

    timer = threading.Timer(_READ_S, remove)
    timer.daemon = True
    timer.start()
    command = click.get_current_context(silent=True)
    if command is not None:
        command.call_on_close(remove)
