"""The words of the list."""

from windlass.core.record import RunState
from windlass.screen.row_words import STYLES
from windlass.web.words import TONES


def test_every_state_has_its_look_in_both() -> None:
    assert set(STYLES) == set(TONES) == set(RunState)
