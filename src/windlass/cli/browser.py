"""Opening a page whose address holds a key."""

import html
import os
import webbrowser

from windlass.cli.output import Output
from windlass.edges.files import save_file
from windlass.edges.runtime_folder import find_runtime_folder, make_private_folder


def open_browser(output: Output, address: str) -> None:
    """By a page that only its user can read: what is on a command line others may see."""
    folder = find_runtime_folder(os.environ, os.getuid())
    make_private_folder(folder)
    page = folder / "open.html"
    text = f'<meta http-equiv="refresh" content="0;url={html.escape(address)}">'
    save_file(page, text.encode(), mode=0o600)
    if not webbrowser.open(page.as_uri()):
        output.tell("no browser could be opened: the address above goes into one")
