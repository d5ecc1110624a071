"""What people write about a run: "lr too high, see r7". Kept in the run folder, a line each, and with the record."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windlass.core.watching.ansi import strip
from windlass.errors import UsageError

LONGEST = 2000  # letters


@dataclass(frozen=True, kw_only=True)
class Note:
    time: float  # seconds since 1970
    text: str


def make_note(text: str, now: float) -> Note:
    """Without escape sequences and controls; lines stay lines."""
    lines = [" ".join(line.split()) for line in strip(text).splitlines()]
    plain = "\n".join(lines).strip()
    if not plain:
        raise UsageError("a note needs a text", hint='windlass note last "learning rate too high"')
    if len(plain) > LONGEST:
        raise UsageError(
            f"the note has {len(plain):,} letters, and {LONGEST:,} are the most", hint="keep long texts in a file"
        )
    return Note(time=round(now, 3), text=plain)


def read_notes(listed: object) -> tuple[Note, ...]:
    """Of lines of the run folder as the deputy tells them; what is none is passed over."""
    found = [_read(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return merge_notes([one for one in found if one is not None])


def merge_notes(*many: Iterable[Note]) -> tuple[Note, ...]:
    """Each once, the oldest first: the same note may have come from the laptop and from the folder."""
    return tuple(sorted({one for notes in many for one in notes}, key=lambda one: (one.time, one.text)))


def _read(values: Mapping[str, Any]) -> Note | None:
    time, text = values.get("t"), values.get("text")
    if isinstance(time, bool) or not isinstance(time, int | float) or not math.isfinite(time) or time > 1e11:
        return None
    try:
        return make_note(text, time) if isinstance(text, str) else None
    except UsageError:  # not of ours
        return None


def format_lines(notes: Sequence[Note]) -> list[dict[str, object]]:
    """As they stand in the run folder."""
    return [{"t": one.time, "text": one.text} for one in notes]
