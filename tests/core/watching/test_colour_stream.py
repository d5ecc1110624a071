"""What of a log reaches a terminal: colours and lines, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.watching.colour_stream import ColourStream

STEERING = [
    "\x1b]52;c;cm0gLXJmIH4=\x07",  # fills the clipboard
    "\x1b]52;c;cm0gLXJmIH4=\x1b\\",
    "\x1b]0;a title\x07",
    "\x1b[2J\x1b[H",  # clears the screen
    "\x1b[?1049h",
    "\x1bc",  # resets the terminal
    "\x1bP+q544e\x1b\\",  # asks it to answer
    "\x1b[6n",
    "\x9b",
    "\x07",
    "\u202e",
]


@pytest.mark.parametrize("sequence", STEERING)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_what_steers_a_terminal_is_left_out_however_it_is_cut(sequence: str, size: int) -> None:
    payload = f"before {sequence}after\n".encode()
    stream = ColourStream()

    shown = b"".join(stream.take(payload[at : at + size]) for at in range(0, len(payload), size))

    assert shown == b"before after\n"


@pytest.mark.parametrize("text", ["\x1b[1;31mred\x1b[0m\n", "\x1b[38;5;208mx\x1b[m", " 10%|#\r 20%|##\r", "été\t→\n"])
@pytest.mark.parametrize("size", [1, 2, 1000])
def test_colours_progress_bars_and_letters_stay(text: str, size: int) -> None:
    payload = text.encode()
    stream = ColourStream()

    assert b"".join(stream.take(payload[at : at + size]) for at in range(0, len(payload), size)) == payload


def test_a_sequence_that_never_ends_holds_back_no_log() -> None:
    stream = ColourStream()
    stream.take(b"\x1b]0;")

    shown = b"".join(stream.take(b"x" * 100 + b"\n") for _ in range(100))

    assert shown.endswith(b"x\n")


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_of_any_bytes_only_colours_keep_their_escape(pieces: list[bytes]) -> None:
    stream = ColourStream()

    shown = b"".join(stream.take(one) for one in pieces).decode()

    assert all(part[:1] == "[" and "m" in part for part in shown.split("\x1b")[1:])
