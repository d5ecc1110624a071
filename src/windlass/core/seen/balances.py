"""What a centre's own command says of an account's hours: the forms that can be recognised, and no others."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard

from windlass.core.facts import Balance

# Words in heads of tables and keys of JSON, without signs and in lower case.
_ACCOUNT = {"account", "project", "projectid", "projectname", "accountname", "allocation", "budget", "group", "name"}
_LIMIT = {"limit", "quota", "granted", "allocated", "allocation", "total", "budget", "award", "assigned", "awarded"}
_USED = {"used", "usage", "consumed", "spent", "charged"}
_LEFT = {"left", "remaining", "available", "balance", "free", "remain"}
_UNITS = (
    (re.compile(r"gpu[ _-]*(?:h\b|hours?|hrs?)", re.IGNORECASE), "gpu-hours"),
    (re.compile(r"node[ _-]*(?:h\b|hours?|hrs?)", re.IGNORECASE), "node-hours"),
    (re.compile(r"(?:core|cpu)[ _-]*(?:h\b|hours?|hrs?)", re.IGNORECASE), "core-hours"),
    (re.compile(r"billing[ _-]*(?:h\b|hours?|hrs?)", re.IGNORECASE), "billing-hours"),
)
_RESOURCES = {"cpu": "core-hours", "node": "node-hours", "gres/gpu": "gpu-hours", "billing": "billing-hours"}
_NUMBER = re.compile(r"-?\d{1,15}(?:[,'_ ]\d{3})*(?:\.\d{1,9})?", re.ASCII)
_RULE = re.compile(r"[\s|+=:\-─━]*")
_LONGEST = 1_000_000

Row = Mapping[str, object]


def format_unit(resource: str) -> str:
    """Slurm's name of a resource as the unit of a budget."""
    return _RESOURCES.get(resource, f"{resource.removeprefix('gres/')}-hours")


def read_balances(text: str, *, source: str, default_unit: str) -> tuple[Balance, ...]:
    """JSON, CSV, `a|b` or a table in columns, with a head that names an account and a limit, a use or a rest.

    A text that is none of these gives nothing: a number that was guessed is worse than none.
    """
    text = text[:_LONGEST]
    unit = _find_unit(text) or default_unit
    for rows in (_read_json(text), _read_table(text)):
        found = tuple(one for row in rows if (one := _make_balance(row, source=source, unit=unit)) is not None)
        if found:
            return found
    return ()


def sort_balances(balances: Sequence[Balance], unit: str) -> tuple[Balance, ...]:
    """What the site counts in comes first, and limits before mere uses: `Facts.balance` takes the first."""
    return tuple(sorted(balances, key=lambda one: (one.account, one.unit != unit, one.limit is None)))


def _make_balance(row: Row, *, source: str, unit: str) -> Balance | None:
    """Two of limit, use and rest, or the rest alone: then nobody knows of how much it is."""
    key, name = _pick(row, _ACCOUNT)
    limit, used, left = (_read_number(_pick(row, words, skip=key)[1]) for words in (_LIMIT, _USED, _LEFT))
    if not isinstance(name, str) or not name.strip() or (left is None and (limit is None or used is None)):
        return None
    if limit is None and left is not None:
        limit, used = left + (used or 0.0), used or 0.0
    elif used is None and limit is not None and left is not None:
        used = limit - left
    unit = _find_unit(" ".join(map(str, row))) or unit
    return Balance(account=name.strip(), unit=unit, limit=limit, used=used, source=source)


def _pick(row: Row, words: set[str], skip: str | None = None) -> tuple[str | None, object]:
    """The first column whose head has one of these words: exactly, or among others."""
    for exact in (True, False):
        for key, value in row.items():
            parts = re.findall(r"[a-z]+", str(key).lower())
            fits = "".join(parts) in words if exact else any(part in words for part in parts)
            if fits and key != skip and not isinstance(value, dict | list):
                return key, value
    return None, None


def _read_number(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = _NUMBER.match(value.strip()) if isinstance(value, str) else None
    return float(re.sub(r"[,'_ ]", "", match[0])) if match else None


def _find_unit(text: str) -> str | None:
    """The one unit the text names; none when it names several."""
    found = {unit for pattern, unit in _UNITS if pattern.search(text)}
    return found.pop() if len(found) == 1 else None


def _read_json(text: str) -> Iterator[Row]:
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=None)
    if start is None:
        return
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return
    yield from _walk(value, None)


def _walk(value: object, name: str | None) -> Iterator[Row]:
    """Objects with an account in them, or that stand under its name: {"proj-a": {"used": 3}}."""
    if isinstance(value, list):
        for one in value:
            yield from _walk(one, None)
    elif _is_object(value):
        if _pick(value, _ACCOUNT)[0] is None and name is not None:
            value = {"account": name, **value}
        yield value
        for key, one in value.items():
            if isinstance(one, dict | list):
                yield from _walk(one, key)


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _read_table(text: str) -> Iterator[Row]:
    lines = [line for line in text.splitlines() if line.strip() and not _RULE.fullmatch(line)]
    for place, line in enumerate(lines):
        cut = next((cut for cut in _CUTS if _is_head(cut(line))), None)
        if cut is not None:
            head = cut(line)
            rows = (cut(row) for row in lines[place + 1 :])
            yield from (dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head))
            return


def _is_head(cells: Sequence[str]) -> bool:
    """It names an account and at least one of the numbers, and holds no number itself."""
    row = dict.fromkeys(cells, "")
    account = _pick(row, _ACCOUNT)[0]
    has_number = any(_pick(row, words, skip=account)[0] for words in (_LIMIT, _USED, _LEFT))
    return len(row) == len(cells) > 1 and account is not None and has_number


def _cut_at(sign: str) -> Callable[[str], list[str]]:
    return lambda line: [cell.strip() for cell in line.strip().strip("|").split(sign)]


def _cut_wide(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


# How a line may be cut into cells; the head decides for the whole table.
_CUTS: tuple[Callable[[str], list[str]], ...] = (*map(_cut_at, "|\t;,"), _cut_wide, str.split)
