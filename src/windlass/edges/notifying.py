"""Telling the user on this machine: by the desktop, by the terminal, or by a program of the user's own. No shell."""

import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from windlass.core.notices import Event, make_variables

TITLE = "Windlass"
_PATIENCE_S = 5.0  # a program that takes longer goes on alone
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MAC = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")


def show_on_desktop(event: Event, environ: Mapping[str, str], *, platform: str = sys.platform) -> str | None:
    """Why it could not be shown; None: it was."""
    argv = make_desktop_argv(event, platform=platform)
    if shutil.which(argv[0], path=environ.get("PATH")) is None:
        return f"{argv[0]} is not installed here"
    return _run(argv, environ, b"")


def make_desktop_argv(event: Event, *, platform: str = sys.platform) -> list[str]:
    """The text is an argument of its own, and on Linux it is markup, so that its signs are written as such."""
    text = clean(event.text)
    if platform == "darwin":
        return ["osascript", *(word for one in _MAC for word in ("-e", one)), TITLE, text]
    return ["notify-send", f"--app-name={TITLE}", "--", TITLE, html.escape(text, quote=False)]


def call_program(event: Event, command: str, environ: Mapping[str, str]) -> str | None:
    """What went wrong, or None: the event as JSON on its input, and in its variables."""
    told = json.dumps({"version": 1, "event": asdict(event)}).encode() + b"\n"
    variables = {**environ, **make_variables(event)}
    program, *words = shlex.split(command)
    return _run([str(Path(program).expanduser()) if program.startswith("~") else program, *words], variables, told)


def make_terminal_text(event: Event) -> str:
    """A bell, and OSC 9, which many terminals show as a notice; others pass over it."""
    return f"\x1b]9;{clean(event.text)}\x07\x07"


def clean(text: str) -> str:
    """One line without signs that steer: names of runs and reasons come from files at a site."""
    return _CONTROLS.sub(" ", text)[:500]


def _run(argv: Sequence[str], environ: Mapping[str, str], told: bytes) -> str | None:
    variables = {name: value.replace("\0", " ") for name, value in environ.items()}
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=variables,
            start_new_session=True,  # Ctrl-C is for us
        )
    except (OSError, ValueError) as error:
        return f"{argv[0]}: {getattr(error, 'strerror', None) or error}"
    try:
        _, said = child.communicate(told, timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        return None  # it goes on alone
    except OSError:  # it has not read what it was told, and need not
        said = b""
        child.wait(_PATIENCE_S)
    if child.returncode == 0:
        return None
    words = said.decode(errors="replace").strip().splitlines()
    return f"{argv[0]} ended with {child.returncode}" + (f": {words[-1][:200]}" if words else "")
