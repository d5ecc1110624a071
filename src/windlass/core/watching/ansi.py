"""Colours of a terminal in a log, as pieces of text with names of styles; cursor moves and titles are dropped."""

import re
from dataclasses import dataclass, field, replace

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
# Colours and the like (CSI … m), all other sequences, and controls that are no part of a text.
_SEQUENCE = re.compile(
    r"\x1b\[(?P<codes>[0-9;]{0,60})m"
    r"|\x1b\[[0-?]{0,60}[ -/]{0,10}[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4000}(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]{0,10}[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


@dataclass(frozen=True, kw_only=True)
class Piece:
    text: str
    styles: tuple[str, ...] = ()  # "red", "on-blue", "bold", "dim", "underline"


@dataclass(frozen=True, kw_only=True)
class _Pen:
    colour: str | None = None
    ground: str | None = None
    marks: frozenset[str] = field(default_factory=frozenset)

    @property
    def styles(self) -> tuple[str, ...]:
        return (*filter(None, (self.colour, self.ground)), *sorted(self.marks))


def read_pieces(text: str) -> tuple[Piece, ...]:
    """Plain text in order; whoever shows it escapes it. Letters that turn the direction of text are left out too."""
    pieces: list[Piece] = []
    pen, at = _Pen(), 0
    for match in _SEQUENCE.finditer(text):
        _add(pieces, text[at : match.start()], pen)
        if match["codes"] is not None:
            pen = _turn(pen, match["codes"])
        at = match.end()
    _add(pieces, text[at:], pen)
    return tuple(pieces)


def strip(text: str) -> str:
    """The words alone."""
    return _SEQUENCE.sub("", text)


def keep_colours(text: str) -> str:
    """As it is, for a terminal, without what moves its cursor, clears it, sets its title or fills its clipboard.

    A carriage return stays: progress bars draw their line again by it.
    """
    return _SEQUENCE.sub(lambda found: found[0] if found["codes"] is not None or found[0] == "\r" else "", text)


def _add(pieces: list[Piece], text: str, pen: _Pen) -> None:
    if not text:
        return
    if pieces and pieces[-1].styles == pen.styles:
        pieces[-1] = Piece(text=pieces[-1].text + text, styles=pen.styles)
    else:
        pieces.append(Piece(text=text, styles=pen.styles))


def _turn(pen: _Pen, codes: str) -> _Pen:
    numbers = [int(code) if code else 0 for code in codes.split(";")]
    at = 0
    while at < len(numbers):
        code = numbers[at]
        if code in (38, 48):  # 256 colours or more: passed over
            at += 3 if numbers[at + 1 : at + 2] == [5] else 5
            continue
        pen = _apply(pen, code)
        at += 1
    return pen


def _apply(pen: _Pen, code: int) -> _Pen:
    marks = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
    if code == 0:
        return _Pen()
    if code in marks:
        return replace(pen, marks=pen.marks | {marks[code]})
    if code in (22, 23, 24):
        ended = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}}[code]
        return replace(pen, marks=pen.marks - ended)
    if code in (39, 49):
        return replace(pen, colour=None) if code == 39 else replace(pen, ground=None)
    if 30 <= code <= 37 or 90 <= code <= 97:
        return replace(pen, colour=_COLOURS[code % 10])
    if 40 <= code <= 47 or 100 <= code <= 107:
        return replace(pen, ground=f"on-{_COLOURS[code % 10]}")
    return pen
