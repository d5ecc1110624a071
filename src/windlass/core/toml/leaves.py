"""Readers of single values: each takes what TOML (or a flag's text) gave and returns it typed, or refuses in words."""

import datetime
import re
from enum import StrEnum
from math import isfinite

from windlass.core.spending.amounts import Amount, NoAmount, read_amount
from windlass.core.sweep.space import check_name as check_name_of_values
from windlass.core.sweep.space import format_dimension, make_choices, read_dimension
from windlass.core.sweep.wish import check_pattern
from windlass.core.toml.reading import FromText, Leaf, Refused, nearest
from windlass.core.units import MAX_MEMORY_MB, Unreadable, format_duration, read_duration, read_memory
from windlass.errors import UsageError

LONGEST_LINE = 4_096
LONGEST_TEXT = 32_768  # the kernel's limit for one argument is four times that
_LINE_BREAKS = "\x85\u2028\u2029"
_UNSAFE = frozenset("\"'`$\\;<>#{}~")
_SECRET_KINDS = ("env", "file", "command")
_SIGNALS = ("TERM", "USR1", "USR2", "INT", "HUP", "CONT", "QUIT", "ALRM")
_YES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def line(*, longest: int = LONGEST_LINE) -> Leaf:
    """Text on one line."""
    return Leaf(read=lambda value: _read_text(value, longest, lines=False))


def text(*, longest: int = LONGEST_TEXT) -> Leaf:
    """Text of any number of lines, such as a command."""
    return Leaf(read=lambda value: _read_text(value, longest, lines=True))


def word(*, longest: int = 256) -> Leaf:
    """Text that reaches a directive or an argument: no blanks, no quotes, no leading dash."""
    return Leaf(read=lambda value: _read_word(value, longest))


def relative_path() -> Leaf:
    """A path or pattern that stays inside its folder."""
    return Leaf(read=_read_relative)


def pattern() -> Leaf:
    """A regular expression in Python's form."""
    return Leaf(read=_read_pattern)


def number_pattern() -> Leaf:
    """A regular expression with a group: the number in what is printed."""
    return Leaf(read=_read_number_pattern)


def swept_values() -> Leaf:
    """What a sweep tries of one name, as text: "log:1e-5..1e-1", "2,4,8", or a list of values."""
    return Leaf(read=_read_swept)


def check_swept_name(name: str) -> None:
    try:
        check_name_of_values(name)
    except UsageError as problem:
        raise Refused(f"{problem.message}; {problem.hint}") from None


def whole(least: int, most: int) -> Leaf:
    return Leaf(read=lambda value: _read_whole(value, least, most))


def number(least: float, most: float) -> Leaf:
    return Leaf(read=lambda value: _read_number(value, least, most))


def flag() -> Leaf:
    return Leaf(read=_read_flag)


def duration(
    *,
    least: datetime.timedelta = datetime.timedelta(seconds=1),
    most: datetime.timedelta = datetime.timedelta(days=366),
) -> Leaf:
    return Leaf(read=lambda value: _read_duration(value, least, most))


def memory(into: str) -> Leaf:
    return Leaf(read=_read_memory, into=into)


def amount() -> Leaf:
    """Hours of something: "200 GPU-h"."""
    return Leaf(read=_read_amount)


def choice(kind: type[StrEnum]) -> Leaf:
    return Leaf(read=lambda value: kind(_read_choice(value, [str(one) for one in kind])))


def signal() -> Leaf:
    return Leaf(read=_read_signal)


def env_value() -> Leaf:
    return Leaf(read=_read_env_value)


def secret() -> Leaf:
    """Where a secret is. A wrong value is never shown: it may be the secret itself."""
    return Leaf(read=_read_secret, hidden=True)


def check_env_name(name: str) -> None:
    if not (name.isascii() and name.isidentifier() and len(name) <= 256):
        raise Refused("is no name for a variable; use letters, digits and _")
    if name.startswith("WINDLASS_"):
        raise Refused("is a name Windlass sets itself; choose another")


def check_name(name: str) -> None:
    """A name for a table of the user's: it becomes a word in commands and a part of paths."""
    allowed = name.replace("-", "").replace("_", "").replace(".", "").replace("+", "")
    if not (allowed.isascii() and allowed.isalnum() and len(name) <= 64 and name[0].isalnum()):
        raise Refused("is no name; use letters, digits, - and _")


def check_key(name: str) -> None:
    """A label nobody runs: any text on one line."""
    _read_text(name, 256, lines=False)


def _read_text(value: object, longest: int, *, lines: bool) -> str:
    if not isinstance(value, str):
        raise Refused("expected text in quotes")
    if not value.strip():
        raise Refused("is empty; remove the line or fill it in")
    if len(value) > longest:
        raise Refused(f"has {len(value)} characters; at most {longest} are allowed")
    allowed = "\n\t" if lines else ""
    bad = next((one for one in value if _is_control(one) and one not in allowed), None)
    if bad is not None:
        raise Refused(f"holds the character {bad!a}, which no job can carry")
    return str(value)


def _is_control(one: str) -> bool:
    # lone surrogates are bytes of a flag or variable that were no UTF-8
    return one < " " or "\x7f" <= one <= "\x9f" or one in _LINE_BREAKS or "\ud800" <= one <= "\udfff"


def _read_word(value: object, longest: int) -> str:
    found = _read_text(value, longest, lines=False)
    bad = next((one for one in found if one.isspace() or one in _UNSAFE), None)
    if bad is not None:
        raise Refused(f"cannot hold {'a blank' if bad.isspace() else bad}")
    if found.startswith("-"):
        raise Refused("cannot begin with -")
    return found


def _read_relative(value: object) -> str:
    found = _read_text(value, LONGEST_LINE, lines=False)
    if found.startswith(("/", "~")):
        raise Refused("must be relative, without / or ~ at the start")
    if ".." in found.split("/"):
        raise Refused("cannot lead out of its folder with ..")
    return found


def _read_pattern(value: object) -> str:
    written = _read_text(value, LONGEST_LINE, lines=False)
    try:
        compiled = re.compile(written)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "a backslash before ( ) [ * + ? takes them as they are"
        raise Refused(f"is no regular expression: {error}; {hint}") from None
    if compiled.search("") is not None:
        raise Refused("fits an empty line too, so every training would be done at its first word; name what it prints")
    return written


def _read_number_pattern(value: object) -> str:
    written = _read_text(value, LONGEST_LINE, lines=False)
    try:
        check_pattern(written)
    except UsageError as problem:
        raise Refused(f"{problem.message}; {problem.hint}") from None
    return written


def _read_swept(value: object) -> str:
    """Names are not known here: what is wrong is told of x."""
    try:
        if isinstance(value, list | tuple):
            if not all(isinstance(one, bool | int | float | str) for one in value):
                raise Refused("expected a list of numbers, words, true or false")
            return format_dimension(make_choices("x", tuple(value)))
        if isinstance(value, bool | int | float):
            return format_dimension(make_choices("x", (value,)))
        return format_dimension(read_dimension("x", _read_text(value, LONGEST_TEXT, lines=False)))
    except UsageError as problem:
        raise Refused(f"{problem.message}; {problem.hint}") from None


def _read_whole(value: object, least: int, most: int) -> int:
    if isinstance(value, FromText):
        digits = value.strip().removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 30):
            raise Refused("expected a whole number")
        value = int(value.strip())
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused("expected a whole number")
    if value < least:
        raise Refused(f"must be at least {least}")
    if value > most:
        raise Refused(f"must be at most {most}")
    return value


def _read_number(value: object, least: float, most: float) -> float:
    if isinstance(value, FromText):
        try:
            value = float(value)
        except ValueError:
            raise Refused("expected a number") from None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Refused("expected a number")
    if isinstance(value, float) and not isfinite(value):
        raise Refused("expected a number that is finite")
    if not least <= value <= most:
        raise Refused(f"must be between {least:g} and {most:g}")
    return float(value)


def _read_flag(value: object) -> bool:
    if isinstance(value, FromText):
        value = _YES.get(value.strip().lower())
    if not isinstance(value, bool):
        raise Refused("expected true or false")
    return value


def _read_duration(value: object, least: datetime.timedelta, most: datetime.timedelta) -> datetime.timedelta:
    if isinstance(value, datetime.time):  # TOML reads 12:00:00 without quotes as a time of day
        raise Refused(f'put it in quotes: "{value}"')
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9:
        raise Refused(f'has no unit; write "{value}m" for minutes or "{value}h" for hours')
    if not isinstance(value, str):
        raise Refused('expected a duration in quotes, such as "36h"')
    try:
        found = read_duration(value)
    except Unreadable as error:
        raise Refused(str(error)) from None
    if not least <= found <= most:
        raise Refused(f"must be between {format_duration(least)} and {format_duration(most)}")
    return found


def _read_memory(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_MEMORY_MB:
        raise Refused(f'has no unit; write "{value}M" or "{value}G"')
    if not isinstance(value, str):
        raise Refused('expected a size in quotes, such as "64G"')
    try:
        found = read_memory(value)
    except Unreadable as error:
        raise Refused(str(error)) from None
    if found == 0:
        raise Refused("must be more than nothing")
    return found


def _read_amount(value: object) -> Amount:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Refused(f'has no unit; write "{value} GPU-h" or "{value} core-h"')
    if not isinstance(value, str):
        raise Refused('expected an amount in quotes, such as "200 GPU-h"')
    try:
        return read_amount(value)
    except NoAmount as error:
        raise Refused(str(error)) from None


def _read_choice(value: object, choices: list[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        found = nearest(value, choices) if isinstance(value, str) else None
        meant = f'; did you mean "{found}"?' if found else ""
        raise Refused(f"expected one of {', '.join(choices)}{meant}")
    return str(value)


def _read_signal(value: object) -> str:
    if not isinstance(value, str):
        raise Refused('expected the name of a signal, such as "TERM" or "USR1"')
    return _read_choice(str(value).upper().removeprefix("SIG"), list(_SIGNALS))


def _read_env_value(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**20:
        return str(value)
    if not isinstance(value, str):
        raise Refused("expected text in quotes")
    if len(value) > LONGEST_TEXT:
        raise Refused(f"has {len(value)} characters; at most {LONGEST_TEXT} are allowed")
    if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise Refused("holds a character no variable can carry")
    return str(value)


def _read_secret(value: object) -> str:
    kind, colon, where = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not colon or kind not in _SECRET_KINDS:
        raise Refused('write where it is, not what it is: "env:NAME", "file:PATH" or "command:…"')
    found = _read_text(where, LONGEST_LINE, lines=False)
    if kind == "env" and not (found.isascii() and found.isidentifier()):
        raise Refused('"env:" needs the name of a variable')
    return f"{kind}:{found}"
