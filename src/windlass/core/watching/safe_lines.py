"""Lines of a log as pieces that may be shown: escape sequences become styles, what is a secret is not in them."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from windlass.core.ending.hiding import hide
from windlass.core.secret_words import HIDDEN
from windlass.core.watching.ansi import Piece, read_pieces, strip
from windlass.core.watching.log_lines import Line

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY = re.compile(r"\s*[A-Za-z0-9+/=\\n]{8,}\s*")


@dataclass(frozen=True, kw_only=True)
class SafeLine:
    line: Line
    pieces: tuple[Piece, ...]


def make_safe(lines: Sequence[Line], secrets: Collection[str]) -> tuple[SafeLine, ...]:
    """secrets: values that must not be shown wherever they stand. A line that held one loses its colours."""
    safe, is_inside = [], False
    for line in lines:
        plain = strip(line.text)
        if is_inside and _KEY.fullmatch(plain):
            shown = HIDDEN
        else:
            shown = hide(plain, secrets)
            is_inside = False
        if _KEY_BEGINS.search(plain) and not _KEY_ENDS.search(plain):
            is_inside = True
        pieces = read_pieces(line.text) if shown == plain else (Piece(text=shown),)
        safe.append(SafeLine(line=line, pieces=pieces))
    return tuple(safe)
