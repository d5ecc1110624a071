"""Words of pages: every state has a tone."""

from windlass.core.record import RunState
from windlass.web.words import TONES, format_hint


def test_every_state_has_a_tone() -> None:
    assert set(TONES) == set(RunState)


def test_settings_to_paste_are_lines_of_toml() -> None:
    shown = format_hint('[environment] venv = "requirements.txt"   # windlass run builds it')

    assert str(shown).endswith("[environment]\nvenv = &#34;requirements.txt&#34;   # windlass run builds it</pre>")
    assert format_hint("windlass resume a") == "<p><code>windlass resume a</code></p>"
    assert format_hint("<b>") == "<p>&lt;b&gt;</p>"
