"""A log as it comes, piece by piece, for a terminal: its colours and lines, and nothing else that steers one."""

import codecs
import re

from windlass.core.watching.ansi import keep_colours

# What may still become a sequence when more comes: it waits for the next piece.
_BEGUN = re.compile(
    r"\x1b(?:\[[0-?]{0,60}[ -/]{0,10}|[\]PX^_][^\x07\x1b]{0,4000}\x1b?|[ -/]{0,10})\Z",
)
_LONGEST = 4010


class ColourStream:
    """Takes bytes that may be cut anywhere, in a letter as in a sequence."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = ""

    def take(self, payload: bytes) -> bytes:
        """What of it, and of what waited, may be shown now."""
        text = self._begun + self._decoder.decode(payload)
        found = _BEGUN.search(text, max(0, len(text) - _LONGEST))
        at = found.start() if found else len(text)
        self._begun = text[at:]
        return keep_colours(text[:at]).encode("utf-8", "replace")
