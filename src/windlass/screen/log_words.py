"""The title of a log and its lines, as pieces with styles."""

from rich.cells import cell_len

from windlass.app.record_words import format_ago
from windlass.app.watching.reading_runs import LogHere
from windlass.core.units import format_bytes
from windlass.core.watching.ansi import Piece, strip
from windlass.core.watching.safe_lines import SafeLine
from windlass.screen.lines import Line, Part, clean
from windlass.screen.log_place import LogPlace

_HIT = "black on yellow"
_MARKS = ("bold", "dim", "italic", "underline")


def make_log_title(place: LogPlace, now: float) -> Line:
    log = place.log
    if log is None:
        return (("log", "bold"),)
    number = place.lines[0].line.number if place.lines else None
    where = "following" if place.is_end else f"from line {number:,}" if number else "not at its end"
    parts = [where, f"grew {format_ago(now - log.held.mtime)} ago", _tell_link(place, log), _tell_size(log)]
    told = ", ".join(part for part in parts if part)
    return (f"log {clean(log.about.name)}  ", "bold"), (_tell_search(place), "bold yellow"), (told, "")


def make_empty(place: LogPlace) -> Line:
    words = "no run is chosen" if place.run_id is None else "nothing of its log is here yet"
    return ((words, "dim"),)


def make_log_line(safe: SafeLine, *, column: int, query: str, is_hit: bool) -> Line:
    """column: how far it is moved to the left. What was looked for stands out, also without colours."""
    parts: list[Part] = [(piece.text.expandtabs(8), _make_style(piece)) for piece in safe.pieces]
    parts = _skip(parts, column)
    if query:
        parts = [part for piece in parts for part in _mark(piece, query, is_hit=is_hit)]
    if safe.line.times > 1:
        parts.append((f"  ×{safe.line.times}", "dim"))
    if safe.line.left_out:
        parts.append((f"  (and {format_bytes(safe.line.left_out)} more)", "dim"))
    return tuple(parts)


def _tell_link(place: LogPlace, log: LogHere) -> str:
    if len(place.logs) < 2:
        return ""
    number = list(place.logs).index(log) + 1
    return f"{number} of {len(place.logs)}" + (f", link {log.about.link}" if log.about.link else "")


def _tell_size(log: LogHere) -> str:
    held = log.held
    if held.here < held.size:
        return f"{format_bytes(held.here)} of {format_bytes(held.size)} here"
    return format_bytes(held.size)


def _tell_search(place: LogPlace) -> str:
    if place.note:
        return f"{place.note}  "
    if place.query and not place.hits.hits:
        return f"'{strip(place.query)}' is not in it  "
    if place.query:
        more = "+" if place.hits.is_cut else ""
        at = f"{place.hit_number} of " if place.hit_number else ""
        return f"'{strip(place.query)}': {at}{len(place.hits.hits):,}{more}  "
    return ""


def _make_style(piece: Piece) -> str:
    """Colours are those the terminal has; "on-blue" is "on blue" here."""
    words = [style.replace("on-", "on ", 1) for style in piece.styles if style not in _MARKS]
    return " ".join([*(style for style in piece.styles if style in _MARKS), *words])


def _skip(parts: list[Part], column: int) -> list[Part]:
    left: list[Part] = []
    for text, style in parts:
        cells = cell_len(text)
        if column >= cells:
            column -= cells
            continue
        left.append((text[column:], style))
        column = 0
    return left


def _mark(part: Part, query: str, *, is_hit: bool) -> list[Part]:
    text, style = part
    searched = text.lower() if query == query.lower() else text
    marked: list[Part] = []
    at, found = 0, searched.find(query)
    while found >= 0:
        marked += [(text[at:found], style), (text[found : found + len(query)], _HIT + (" bold" if is_hit else ""))]
        at = found + len(query)
        found = searched.find(query, at)
    return [one for one in (*marked, (text[at:], style)) if one[0]]
