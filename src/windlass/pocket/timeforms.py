"""Slurm's ways to write durations and moments."""

import re
import time

UNLIMITED_WORDS = ("unlimited", "infinite", "-1")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_NAMED_HOURS = {"midnight": 0, "noon": 12, "fika": 15, "teatime": 16}


def read_duration(text: str) -> int | None:
    """Seconds of a `--time` value; None is without limit. Raises ValueError."""
    text = text.strip()
    if text.lower() in UNLIMITED_WORDS:
        return None
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not match:
        raise ValueError(text)
    days, first, second, third = (int(part or 0) for part in match.groups())
    # Without days, two numbers are minutes and seconds, not hours and minutes.
    has_hours = match[1] or match[4]
    seconds = days * 86400 + first * 3600 + second * 60 + third if has_hours else first * 60 + second
    # sbatch(1): "A time limit of zero requests that no time limit be imposed."
    return seconds or None


def format_short(seconds: int | None) -> str:
    """As squeue writes it: 2:05, 1:00:00, 1-00:00:00."""
    if seconds is None:
        return "UNLIMITED"
    days, hours, minutes, rest = _split(max(seconds, 0))
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{rest:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_long(seconds: int | None) -> str:
    """As sacct and scontrol write it: 00:02:05, 1-00:00:00."""
    if seconds is None:
        return "UNLIMITED"
    days, hours, minutes, rest = _split(max(seconds, 0))
    return (f"{days}-" if days else "") + f"{hours:02}:{minutes:02}:{rest:02}"


def format_moment(moment: float | None, unknown: str = "Unknown") -> str:
    if moment is None:
        return unknown
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(moment))


def read_moment(text: str, now: float) -> float:
    """A `--begin` or `-S` value as seconds since 1970. Raises ValueError."""
    word = text.strip().lower()
    if word.startswith("now"):
        return now + _read_offset(word[3:])
    if word in ("today", "tomorrow"):
        return _day_start(now, 0 if word == "today" else 1)
    if word in _NAMED_HOURS:
        return _next_clock(now, _NAMED_HOURS[word], 0, 0)
    clock = re.fullmatch(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?", word)
    if clock:
        hour = int(clock[1]) % 12 + (12 if clock[4] == "pm" else 0) if clock[4] else int(clock[1])
        return _next_clock(now, hour, int(clock[2]), int(clock[3] or 0))
    return _read_date(word, now)


def _split(seconds: int) -> tuple[int, int, int, int]:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return days, hours, minutes, rest


def _read_offset(text: str) -> int:
    if not text:
        return 0
    match = re.fullmatch(r"([+-])(\d+)\s*([a-z]*)", text)
    if not match or match[3][:1] not in _UNITS:
        raise ValueError(text)
    seconds = int(match[2]) * _UNITS[match[3][:1]]
    return seconds if match[1] == "+" else -seconds


def _day_start(now: float, days: int) -> float:
    day = time.localtime(now)
    return time.mktime((day.tm_year, day.tm_mon, day.tm_mday + days, 0, 0, 0, 0, 0, -1))


def _next_clock(now: float, hour: int, minute: int, second: int) -> float:
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{hour}:{minute}")
    day = time.localtime(now)
    for days in (0, 1):
        moment = time.mktime((day.tm_year, day.tm_mon, day.tm_mday + days, hour, minute, second, 0, 0, -1))
        if moment > now:
            break
    return moment


def _read_date(word: str, now: float) -> float:
    date, _, clock = word.partition("t")
    year_now = time.localtime(now).tm_year
    if match := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", date):
        year, month, day = int(match[1]), int(match[2]), int(match[3])
    elif match := re.fullmatch(r"(\d{2})[/.]?(\d{2})(?:[/.]?(\d{2}))?", date):
        month, day, year = int(match[1]), int(match[2]), 2000 + int(match[3]) if match[3] else year_now
    else:
        raise ValueError(word)
    parts = [int(part) for part in clock.split(":")] if re.fullmatch(r"\d+(:\d+){0,2}", clock) else []
    if (clock and not parts) or not 1 <= month <= 12 or not 1 <= day <= 31:
        raise ValueError(word)
    hour, minute, second = (*parts, 0, 0, 0)[:3]
    return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
