"""Where in a line of bash quotes begin and end: what a value that is put there needs, and what is never closed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TRICKY = re.compile(r"['\"`\\]")
_PLAIN = re.compile(
    r"(?P<comment>(?<![^\s;&|()])\#.*) | (?P<single>') | (?P<double>\") | (?P<open>\$\() | (?P<close>\))"
    r" | \\(?P<cut>\Z) | \\. | .",
    re.DOTALL | re.VERBOSE,
)
_DOUBLE = re.compile(r"(?P<double>\") | (?P<open>\$\() | \\(?P<cut>\Z) | \\. | .", re.DOTALL | re.VERBOSE)
_SINGLE = re.compile(r"(?P<single>') | [^']", re.DOTALL | re.VERBOSE)


@dataclass(frozen=True)
class _Open:
    kind: str  # "'", '"' or "$("
    at: int


def find_open(line: str) -> str | None:
    """What is never closed, in words; None: all is."""
    if not _TRICKY.search(line):
        return None
    *_, (_, stack) = _walk(line)
    bad = next((one for one in reversed(stack) if one.kind != "$("), None)
    if bad is None:
        return None
    if bad.kind == "\\":
        return "it ends with a backslash"
    return f"the quote {bad.kind} at column {bad.at + 1} is never closed"


def find_context(line: str, place: int) -> str:
    """In which quotes a place is: "'", '"', or "" for none."""
    for at, stack in _walk(line):
        if at >= place:
            return stack[-1].kind if stack and stack[-1].kind in "'\"" else ""
    return ""


def _walk(line: str) -> Iterator[tuple[int, list[_Open]]]:
    """Each place with what is open there; at last the end, with what stayed open."""
    stack: list[_Open] = []
    at = 0
    while at < len(line):
        yield at, stack
        inside = stack[-1].kind if stack else ""
        match = (_SINGLE if inside == "'" else _DOUBLE if inside == '"' else _PLAIN).match(line, at)
        assert match is not None
        found = match.groupdict()
        if found.get("cut") is not None:
            stack = [*stack, _Open("\\", at)]
        elif found.get("single") is not None:
            stack = stack[:-1] if inside == "'" else [*stack, _Open("'", at)]
        elif found.get("double") is not None:
            stack = stack[:-1] if inside == '"' else [*stack, _Open('"', at)]
        elif found.get("open") is not None:
            stack = [*stack, _Open("$(", at)]
        elif found.get("close") is not None and inside == "$(":
            stack = stack[:-1]
        at = match.end()
    yield at, stack
