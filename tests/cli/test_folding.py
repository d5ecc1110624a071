"""Long lines on a terminal are folded between words; in a pipe they stay as they are."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.cli.output import fold

LONG = "the run needs several jobs one after another, and no checkpoint folder is named anywhere"


@pytest.mark.parametrize(
    ("label", "hang"),
    [("warning  C204  ", 15), ("where      ", 11), ("D301  ", 6), ("      try: ", 8), ("", 2), ("note: ", 2)],
)
def test_what_follows_stands_below_the_text(label: str, hang: int) -> None:
    lines = fold(label + LONG, 40).split("\n")

    assert len(lines) > 2
    assert all(len(line) <= 40 for line in lines)
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {hang}


def test_colours_take_no_room() -> None:
    painted = f"\x1b[31mok   \x1b[0m {'x' * 30}"

    assert fold(painted, 36) == painted


def test_a_word_is_never_cut() -> None:
    path = "/a/very/long/path/that/is/longer/than/the/terminal"

    assert path in fold(f"folder     {path} is full", 40).split("\n")[0]


@given(st.text(alphabet="ab  -\x1b[31m", max_size=120), st.integers(20, 60))
def test_nothing_is_lost(line: str, columns: int) -> None:
    assert fold(line, columns).split() == line.split()


def show_on_terminal(arguments: Sequence[str], *, columns: int, folder: str) -> str:
    """What `windlass` writes to a terminal so wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"NO_COLOR": "1"}
    command = [sys.executable, "-m", "windlass", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=env, cwd=folder):
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65_536):
                text += part
        except OSError:  # the other end was closed
            pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("arguments", [("sites",), ("explain", "--list"), ("explain", "D301"), ("explain", "X999")])
@pytest.mark.usefixtures("places")
def test_screens_fit_the_terminal(arguments: tuple[str, ...], columns: int, tmp_path: os.PathLike[str]) -> None:
    shown = show_on_terminal(arguments, columns=columns, folder=str(tmp_path))

    assert len(shown) > 100
    assert [line for line in shown.splitlines() if len(line) > columns] == []


@pytest.mark.usefixtures("places")
def test_plain_lines_are_left_alone(tmp_path: os.PathLike[str]) -> None:
    shown = show_on_terminal(("--plain", "explain", "--list"), columns=40, folder=str(tmp_path))

    assert max(len(line) for line in shown.splitlines()) > 80
