"""Opening a page whose address holds a key."""

import html
import os
import webbrowser
from pathlib import Path

from windlass.cli.output import Output
from windlass.edges.files import save_file
from windlass.edges.runtime_folder import find_runtime_folder, make_private_folder
from windlass.errors import WindlassError


def open_browser(output: Output, address: str) -> None:
    """By a page that only its user can read: what is on a command line others may see."""
    try:
        is_open = webbrowser.open(save_opening_page(address).as_uri())
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
