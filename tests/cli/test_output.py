"""What reaches the terminal: nothing that steers it, whoever wrote it."""

import os
import pty
import subprocess
import sys

import pytest

from windlass.cli.output import disarm


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 👩\u200d💻\ttab\n", "plain é 日本 👩\u200d💻\ttab\n"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),  # our own colours
        ("gpu\x1b[2J\r", "gpu\\x1b[2J\\r"),
        ("\x1b[44mblue", "\\x1b[44mblue"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_controls_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert disarm(text) == shown


def test_a_site_cannot_steer_the_terminal() -> None:
    """On a real terminal; into a pipe data goes as it is."""
    program = "from windlass.cli.output import Output; o = Output(); o.show('a\\x1b[2Jb'); o.tell('c\\x1b]0;t\\x07d')"
    reader, writer = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", program], stdout=writer, stderr=writer) as process:
        process.wait(30)
    os.close(writer)
    shown = os.read(reader, 10_000)
    os.close(reader)

    assert b"\x1b" not in shown
    assert b"\\x1b[2J" in shown
    piped = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (b"\x1b[2J" in piped.stdout, b"\x1b" in piped.stderr) == (True, False)
