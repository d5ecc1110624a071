"""Durations, memory and sizes: text people write into values, and back."""

from datetime import timedelta
from decimal import Decimal

MAX_DURATION = timedelta(days=3650)
MAX_MEMORY_MB = 1024**3  # a node with a petabyte

_DURATION_UNITS = {
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("h", "hour", "hours"), 3_600),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
}
_MEMORY_UNITS = {"k": Decimal(1) / 1024, "m": Decimal(1), "g": Decimal(1024), "t": Decimal(1024**2)}
_NO_LIMIT = ("UNLIMITED", "INFINITE", "NOT_SET", "INVALID", "PARTITION_LIMIT", "N/A", "NONE", "")
_DIGITS = "0123456789"
_LONGEST = 64  # characters; nothing longer is a quantity


class Unreadable(ValueError):
    """The text is no such quantity; the message says what to write instead."""


def read_duration(text: str) -> timedelta:
    """`3d`, `1h30m`, `2 h 10 min`, `12:00:00` (h:m:s), `2-12:00:00`. Never a bare number: Slurm reads minutes."""
    word = _shorten(text, "a duration")
    if word.isdecimal():
        raise Unreadable(f'has no unit; write "{word}m" for minutes or "{word}h" for hours')
    if ":" in word or "-" in word:
        return _checked(_read_clock(word))
    seconds, last = Decimal(0), Decimal(10**9)
    for number, unit in _split_quantities(word):
        factor = _DURATION_UNITS.get(unit)
        if factor is None or factor >= last:
            raise _no_duration(word)
        last = Decimal(factor)
        seconds += number * factor
    return _checked(_from_seconds(seconds))


def format_duration(duration: timedelta) -> str:
    """The shortest text that `read_duration` reads back: `1d12h`, `90s` as `1m30s`."""
    days, hours, minutes, seconds = _parts(duration)
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def read_slurm_duration(text: str) -> timedelta | None:
    """Slurm's own forms: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. None: UNLIMITED, or no limit told."""
    word = text.strip()
    if word.upper() in _NO_LIMIT:
        return None
    days_text, dash, clock = word.rpartition("-")
    numbers = [_read_slurm_number(part, word) for part in clock.split(":")]
    days = _read_slurm_number(days_text, word) if dash else Decimal(0)
    if len(numbers) > 3:
        raise Unreadable(f"is no duration of Slurm's: {word[:_LONGEST]!r}")
    if dash or len(numbers) == 3:
        hours, minutes, seconds = (*numbers, Decimal(0), Decimal(0))[:3]
    else:
        hours, minutes, seconds = Decimal(0), numbers[0], numbers[1] if len(numbers) == 2 else Decimal(0)
    return _from_seconds(days * 86_400 + hours * 3_600 + minutes * 60 + seconds)


def format_slurm_duration(duration: timedelta | None) -> str:
    """D-HH:MM:SS: the one form that no version of Slurm reads in two ways."""
    if duration is None:
        return "UNLIMITED"
    days, hours, minutes, seconds = _parts(duration)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"


def read_memory(text: str) -> int:
    """`64G`, `1500M`, `1.5G`, `64GB`, `64GiB` in MB. As in Slurm, G is 1024 M; a part of an MB is rounded up."""
    word = _shorten(text, "a size")
    if word.isdecimal():
        raise Unreadable(f'has no unit; write "{word}M" or "{word}G"')
    quantities = _split_quantities(word)
    if len(quantities) == 1:
        number, unit = quantities[0]
        factor = _MEMORY_UNITS.get(unit[:1]) if unit[1:] in ("", "b", "ib") else None
        if factor is not None:
            megabytes = number * factor
            if megabytes > MAX_MEMORY_MB:
                raise Unreadable("is more memory than any node has")
            return int(megabytes.to_integral_value(rounding="ROUND_CEILING"))
    raise Unreadable('is no size; write it as "64G" or "1500M"')


def format_memory(megabytes: int) -> str:
    """The shortest text that `read_memory` reads back: `64G`, `1500M`. Slurm reads it too."""
    for unit, factor in (("T", 1024**2), ("G", 1024)):
        if megabytes and megabytes % factor == 0:
            return f"{megabytes // factor}{unit}"
    return f"{megabytes}M"


def format_human_duration(duration: timedelta) -> str:
    """For people: `2 h 10 min`, `3 d 4 h`, `45 s`; at most two units, cut and not rounded."""
    if duration < timedelta(0):
        return "-" + format_human_duration(-duration)
    days, hours, minutes, seconds = _parts(duration - timedelta(microseconds=duration.microseconds))
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join([f"{parts[0][0]} {parts[0][1]}", *(f"{number} {unit}" for number, unit in parts[1:2] if number)])


def format_seconds(seconds: float) -> str:
    """The same of seconds that were measured, rounded to whole ones; nothing lasts less than none."""
    return format_human_duration(timedelta(seconds=max(0, round(seconds))))


def format_exact_duration(duration: timedelta) -> str:
    """For people who compare it with another: as `format_human_duration`, and nothing is cut."""
    days, hours, minutes, seconds = _parts(duration)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def count_gb(megabytes: float) -> float:
    """Memory of nodes and GPUs, wherever it is shown: as Slurm counts it, and NVIDIA's tools count MB, 1024 a GB."""
    return megabytes / 1024


def format_gb(megabytes: float) -> str:
    """`9.4 GB`, `118 GB`."""
    size = count_gb(megabytes)
    return f"{size:.1f} GB" if size < 10 else f"{size:.0f} GB"


def format_bytes(count: int) -> str:
    """For people, in powers of ten: `4.1 MB`, `312 bytes`."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    size = float(count)
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        size /= 1000
        if size < 999.5 or unit == "PB":
            break
    return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"


def _shorten(text: str, what: str) -> str:
    word = text.strip()
    if not word:
        raise Unreadable(f"is empty; expected {what}")
    if len(word) > _LONGEST or not word.isascii():
        raise Unreadable(f"is not {what}")
    return word.lower()


def _no_duration(word: str) -> Unreadable:
    return Unreadable('is no duration; write it as "36h", "1h30m", "3d" or "2-12:00:00"')


def _read_clock(word: str) -> timedelta:
    days_text, dash, clock = word.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in parts) or (dash and not days_text.isdecimal()):
        raise _no_duration(word)
    if not dash and len(parts) == 2:
        raise Unreadable(f'can be read in two ways; write "{parts[0]}h{parts[1]}m" or "00:{word}"')
    if len(parts) > 3 or any(int(part) > 59 for part in parts[1:]) or (dash and int(parts[0]) > 23):
        raise _no_duration(word)
    hours, minutes, seconds = (*map(int, parts), 0, 0)[:3]
    return _from_seconds(Decimal(int(days_text or 0) * 86_400 + hours * 3_600 + minutes * 60 + seconds))


def _split_quantities(word: str) -> list[tuple[Decimal, str]]:
    """`1h30m` -> (1, h), (30, m). What is no number and unit in turn becomes a unit nobody knows."""
    found: list[tuple[Decimal, str]] = []
    rest = word
    while rest:
        after_number = rest.lstrip(_DIGITS + ".")
        digits, after_number = rest[: len(rest) - len(after_number)], after_number.lstrip(" ")
        after_unit = after_number.lstrip("abcdefghijklmnopqrstuvwxyz")
        unit = after_number[: len(after_number) - len(after_unit)]
        if not unit or digits.count(".") > 1 or not digits.strip("."):
            return [(Decimal(0), "?")]
        found.append((Decimal(digits), unit))
        rest = after_unit.lstrip(" ")
    return found


def _read_slurm_number(part: str, word: str) -> Decimal:
    # sacct's TotalCPU carries thousandths: `00:01.234`
    if not part or len(part) > 20 or not part.isascii() or part.count(".") > 1 or part.strip(_DIGITS + "."):
        raise Unreadable(f"is no duration of Slurm's: {word[:_LONGEST]!r}")
    if not part.strip("."):
        raise Unreadable(f"is no duration of Slurm's: {word[:_LONGEST]!r}")
    return Decimal(part)


def _from_seconds(seconds: Decimal) -> timedelta:
    if seconds > MAX_DURATION.total_seconds() * 100:
        raise Unreadable("is longer than any computer lives")
    return timedelta(microseconds=int(seconds * 1_000_000))


def _checked(duration: timedelta) -> timedelta:
    if duration > MAX_DURATION:
        raise Unreadable("is longer than ten years")
    return duration


def _parts(duration: timedelta) -> tuple[int, int, int, int]:
    """Days, hours, minutes, seconds; a part of a second counts as one, so that no limit gets shorter."""
    whole = duration.days * 86_400 + duration.seconds + (1 if duration.microseconds else 0)
    minutes, seconds = divmod(max(whole, 0), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return days, hours, minutes, seconds
