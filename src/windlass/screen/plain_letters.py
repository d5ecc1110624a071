"""A terminal whose locale knows no Unicode gets ASCII: every letter of the screen goes through here, logs too."""

from collections.abc import Mapping

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_LOOKS_LIKE = str.maketrans(
    {
        **dict(zip("▁▂▃▄▅▆▇█", "_,.-~+*#", strict=True)),
        **dict(zip("─━│┃┌┐└┘├┤·•░▏…×→←↑↓≈–—‘’“”█", "--||++++++-*.|.x><^v~--''\"\"#", strict=True)),
    }
)


def speaks_unicode(environ: Mapping[str, str]) -> bool:
    """As programs in C see it: the first of the three that is set decides."""
    locale = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "C")
    return locale.lower().replace("-", "").find("utf8") >= 0


def make_ascii(text: str) -> str:
    """As wide as before."""
    if text.isascii():
        return text
    likened = text.translate(_LOOKS_LIKE)
    return "".join(letter if letter.isascii() else "?" * cell_len(letter) for letter in likened)


class AsciiOnly(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(make_ascii(text), style, control) for text, style, control in segments]
