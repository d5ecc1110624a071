"""Columns of squeue, sacct, sinfo and sacctmgr: which we ask for, which a Slurm refuses, and how a row is cut."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from windlass.core.units import Unreadable, read_slurm_duration

SEPARATOR = "\x1f"  # squeue, sacct and sinfo pass it through (22.05 to 26.05), and it is in no name one can type
_NOTHING = frozenset({"", "N/A", "(null)", "None", "NONE", "Unknown", "UNKNOWN", "n/a", "NOT_SET", "None assigned"})
_ABSENT_NUMBERS = frozenset({0, 4294967294, 4294967295})  # NO_VAL and INFINITE where a program prints them raw
_PAIR = re.compile(r"(?:^|\s)([A-Za-z][\w:/]*)=(\S*)", re.ASCII)
# squeue and sinfo print the letter and go on with exit code 0; sacct and sacctmgr stop at the first.
_REFUSED = (
    re.compile(r"Invalid (?:job|node|step) format specification: *(?P<field>\S+)"),
    re.compile(r'Invalid field requested: *"(?P<field>[^"]*)"'),
    re.compile(r"Unknown field '(?P<field>[^']*)'"),
)


@dataclass(frozen=True, kw_only=True)
class Field:
    """`name` is ours, `asked` is Slurm's: "%T" for squeue and sinfo, "State" for sacct and sacctmgr."""

    name: str
    asked: str


Fields = tuple[Field, ...]


def make_fields(**asked: str) -> Fields:
    return tuple(Field(name=name, asked=word) for name, word in asked.items())


def drop_refused(fields: Fields, err: str) -> Fields | None:
    """The fields without those that Slurm says it does not know; None when it refused none of them."""
    refused = {match["field"] for pattern in _REFUSED for match in pattern.finditer(err)}
    kept = tuple(field for field in fields if not _is_refused(field, refused))
    return kept if len(kept) < len(fields) else None


def read_rows(text: str, fields: Fields, *, separator: str = SEPARATOR) -> Iterator[Mapping[str, str]]:
    """Rows by our names. The last column may hold anything; a line with too few columns is no row.

    A job name with a newline gives such a line: its rest is dropped, the job itself is kept.
    """
    for line in text.split("\n"):
        values = line.removesuffix("\r").split(separator, len(fields) - 1)
        if len(values) == len(fields):
            yield {field.name: _clean(field, value) for field, value in zip(fields, values, strict=True)}


def read_pairs(line: str) -> dict[str, str]:
    """`PartitionName=gpu State=UP`, as scontrol writes a record.

    The first of each name counts: a comment that imitates one comes late in the record.
    """
    return dict(reversed(_PAIR.findall(line)))


def read_records(text: str, key: str) -> list[dict[str, str]]:
    """Of `scontrol --oneliner`: the lines that have this key."""
    records = map(read_pairs, text.split("\n"))
    return [record for record in records if record.get(key)]


def read_text(word: str | None) -> str | None:
    """None for Slurm's many words for nothing."""
    return None if word is None or word in _NOTHING else word


def read_names(word: str | None) -> tuple[str, ...]:
    """`a,b`; none for ALL, which names nobody, and for Slurm's words for nothing."""
    if word is None or word == "ALL" or read_text(word) is None:
        return ()
    return tuple(name for name in word.split(",") if name)


def read_count(word: str | None) -> int | None:
    """`8`, `8+` (mixed nodes), `64000M`; None for UNLIMITED, N/A and what is no number."""
    digits = re.match(r"\d{1,18}", word or "", re.ASCII)
    return int(digits[0]) if digits else None


def read_limit(word: str | None) -> int | None:
    """As `read_count`, where Slurm's raw numbers for "none" must not pass for a limit."""
    count = read_count(word)
    return None if count in _ABSENT_NUMBERS else count


def read_seconds(word: str | None) -> int | None:
    """`5:00`, `1-00:00:00`; None for UNLIMITED and anything that is no duration."""
    if not word or read_text(word) is None:
        return None
    try:
        duration = read_slurm_duration(word)
    except Unreadable:
        return None
    return None if duration is None else int(duration.total_seconds())


def read_time(word: str | None) -> float | None:
    """Seconds since 1970, as SLURM_TIME_FORMAT=%s makes Slurm write them.

    A time without a zone, where a wrapper drops that variable, is taken for UTC: nobody tells the site's zone.
    """
    if not word or read_text(word) is None:
        return None
    if word.isascii() and word.isdecimal():
        return float(word[:12]) or None
    try:
        moment = datetime.fromisoformat(word)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _is_refused(field: Field, refused: set[str]) -> bool:
    # squeue's %t and %T are two fields; sacctmgr repeats a refused name in lower case.
    if field.asked.startswith("%"):
        return field.asked[1:] in refused
    return field.asked.lower() in {word.lower() for word in refused}


def _clean(field: Field, value: str) -> str:
    # A letter squeue does not know comes back as it was asked.
    return "" if value == field.asked else value.strip()
