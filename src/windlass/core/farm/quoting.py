"""Where in a line of bash quotes begin and end: what a value that is put there needs, and what is never closed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Where no quotes help, and what it is called: a line break in a value ends the comment, a document has no words, and
# what stands between backticks is read twice.
TRAPS = {"#": "a comment", "<<": "a here-document", "`": "backticks", "$'": "$'…'"}
_NEEDS_NO_END = ("$(", "#", "<<")
_TRICKY = re.compile(r"['\"`\\]")
_PLAIN = re.compile(
    r"(?P<comment>(?<![^\s;&|()])\#) | <<< | \$\(\([^()]*\)\) | (?P<here><<-?[ \t]*['\"\\]?\w)"
    r" | \$\$ | (?P<escaping>\$') | (?P<single>') | (?P<tick>`)"
    r" | (?P<double>\") | (?P<open>\$\() | (?P<close>\))"
    r" | \\(?P<cut>\Z) | \\. | .",
    re.DOTALL | re.VERBOSE,
)
_COMMENT = re.compile(r"(?P<line_end>\n) | [^\n]+", re.VERBOSE)
_DOUBLE = re.compile(
    r"(?P<double>\") | \$\$ | (?P<open>\$\() | (?P<tick>`) | \\(?P<cut>\Z) | \\. | .", re.DOTALL | re.VERBOSE
)
_SINGLE = re.compile(r"(?P<single>') | [^']", re.DOTALL | re.VERBOSE)
_ESCAPING = re.compile(r"(?P<escaping>') | \\. | .", re.DOTALL | re.VERBOSE)
_TICKS = re.compile(r"(?P<tick>`) | \\. | .", re.DOTALL | re.VERBOSE)

_READERS = {"'": _SINGLE, '"': _DOUBLE, "#": _COMMENT, "`": _TICKS, "$'": _ESCAPING}


@dataclass(frozen=True)
class _Open:
    kind: str  # "'", '"', "`", "$'", "$(", "#" for a comment, "<<" for a here-document
    at: int


def find_open(line: str) -> str | None:
    """What is never closed, in words; None: all is."""
    if not _TRICKY.search(line):
        return None
    *_, (_, stack) = _walk(line)
    bad = next((one for one in reversed(stack) if one.kind not in _NEEDS_NO_END), None)
    if bad is None:
        return None
    if bad.kind == "\\":
        return "it ends with a backslash"
    return f"the quote {bad.kind} at column {bad.at + 1} is never closed"


def find_context(line: str, place: int) -> str:
    """In which quotes a place is: "'", '"', or "" for none; or in which of TRAPS."""
    inside = ""
    for at, stack in _walk(line):
        if at > place:
            break
        inside = stack[-1].kind if stack and stack[-1].kind != "$(" else ""
    return inside


def _walk(line: str) -> Iterator[tuple[int, list[_Open]]]:
    """Each place with what is open there; at last the end, with what stayed open."""
    stack: list[_Open] = []
    at = 0
    while at < len(line):
        yield at, stack
        inside = stack[-1].kind if stack else ""
        match = _READERS.get(inside, _PLAIN).match(line, at)
        assert match is not None
        found = match.groupdict()
        if found.get("cut") is not None:
            stack = [*stack, _Open("\\", at)]
        elif found.get("single") is not None:
            stack = stack[:-1] if inside == "'" else [*stack, _Open("'", at)]
        elif found.get("double") is not None:
            stack = stack[:-1] if inside == '"' else [*stack, _Open('"', at)]
        elif found.get("tick") is not None:
            stack = stack[:-1] if inside == "`" else [*stack, _Open("`", at)]
        elif found.get("escaping") is not None:
            stack = stack[:-1] if inside == "$'" else [*stack, _Open("$'", at)]
        elif found.get("open") is not None:
            stack = [*stack, _Open("$(", at)]
        elif found.get("comment") is not None:
            stack = [*stack, _Open("#", at)]
        elif found.get("line_end") is not None:
            stack = stack[:-1]
        elif found.get("here") is not None:  # where it ends nobody needs to know
            yield match.end(), [*stack, _Open("<<", at)]
            return
        elif found.get("close") is not None and inside == "$(":
            stack = stack[:-1]
        at = match.end()
    yield at, stack
