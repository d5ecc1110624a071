"""Notes about runs: cleaned, bounded, and one each however often they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.notes import LONGEST, Note, format_lines, make_note, merge_notes, read_notes
from windlass.errors import UsageError


def test_a_note_has_no_controls_and_keeps_its_lines() -> None:
    assert make_note("  lr \x1b[31mtoo\x1b[0m high\x07 \n\tsee  r7 ", 5.0) == Note(time=5.0, text="lr too high\nsee r7")


@pytest.mark.parametrize("text", ["", " \n", "\x1b[2J", "x" * (LONGEST + 1)])
def test_nothing_and_too_much_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        make_note(text, 5.0)


def test_the_same_note_from_two_places_is_one() -> None:
    first, second = Note(time=1.0, text="a"), Note(time=2.0, text="b")

    assert merge_notes([second], [first, second]) == (first, second)


@given(st.lists(st.builds(Note, time=st.floats(0, 1e10), text=st.text(min_size=1, max_size=20))))
def test_what_is_written_is_read_again(notes: list[Note]) -> None:
    plain = [make_note(f"n{one.text}", one.time) for one in notes]

    assert read_notes(format_lines(plain)) == merge_notes(plain)


@pytest.mark.parametrize("listed", [None, "x", [1, {}, {"t": True, "text": "x"}, {"t": 1, "text": 3}, {"t": 1e300}]])
def test_what_is_no_note_is_passed_over(listed: object) -> None:
    assert read_notes(listed) == ()
