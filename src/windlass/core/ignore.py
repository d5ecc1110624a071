"""Patterns as git writes them in .gitignore, matched against paths: the one pattern language of Windlass.

`exclude`, `include`, .windlassignore and .gitignore all speak it, so a user learns one.
Paths are relative, with "/" between their parts and none at either end.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

_POSIX_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "cntrl": "\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "\x21-\x7e",
    "lower": "a-z",
    "print": "\x20-\x7e",
    "punct": "!-/:-@\\[-`{-~",
    "space": " \t\n\r\x0b\x0c",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, kw_only=True)
class Pattern:
    text: str
    regex: re.Pattern[str]
    is_negated: bool = False
    is_for_folders: bool = False

    def matches(self, path: str, *, is_folder: bool) -> bool:
        return (is_folder or not self.is_for_folders) and self.regex.fullmatch(path) is not None

    @cached_property
    def literal_base(self) -> str:
        """The part before the first wildcard: nothing outside this file or folder can match."""
        text = self.text.removesuffix("/")
        if "/" not in text:
            return ""
        parts: list[str] = []
        for part in text.removeprefix("/").split("/"):
            if re.search(r"[*?\[\\]", part):
                break
            parts.append(part)
        return "/".join(parts)

    @property
    def is_all_wildcards(self) -> bool:
        """Its last part names nothing in particular: `data/**`, `*`."""
        return not self.text.rstrip("/").rpartition("/")[2].strip("*?")


class Patterns:
    """An ordered list of patterns: the last one that matches decides, as in a .gitignore."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        self._folders: dict[str, bool] = {"": False}
        self._newest_first = self.patterns[::-1]

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def decide(self, path: str, *, is_folder: bool) -> bool | None:
        """What the list says about this very path, its folders left aside; None when it says nothing."""
        for pattern in self._newest_first:
            if pattern.matches(path, is_folder=is_folder):
                return not pattern.is_negated
        return None

    def matches(self, path: str) -> bool:
        """Whether this file, or a folder it lies in, is matched; inside a matched folder `!` has no effect."""
        if not self.patterns:
            return False
        return self._matches_folder(path.rpartition("/")[0]) or bool(self.decide(path, is_folder=False))

    def name(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a pattern means this very path: matched itself, by more than wildcards."""
        return any(
            pattern.matches(path, is_folder=is_folder) and not pattern.is_all_wildcards and not pattern.is_negated
            for pattern in self.patterns
        )

    def _matches_folder(self, folder: str) -> bool:
        unknown = []
        while folder not in self._folders:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        known = self._folders[folder]
        for one in reversed(unknown):
            known = self._folders[one] = known or bool(self.decide(one, is_folder=True))
        return known


def read_pattern(line: str) -> Pattern | None:
    """One line of an ignore file; None for a comment, an empty line, or one that git itself never matches."""
    text = _strip_end(line)
    if not text or text.startswith("#"):
        return None
    is_negated = text.startswith("!")
    text = text.removeprefix("!")
    while text.startswith("./"):
        text = text[2:]
    bare = text.removesuffix("/")
    regex = _make_regex(bare)
    if not bare or regex is None:
        return None
    return Pattern(text=text, regex=regex, is_negated=is_negated, is_for_folders=text.endswith("/"))


def read_patterns(lines: Iterable[str]) -> Patterns:
    return Patterns(pattern for line in lines if (pattern := read_pattern(line)) is not None)


def read_ignore_file(text: str) -> Patterns:
    # git ends a line at \n only: a form feed or U+2028 may be part of a name.
    return read_patterns(line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))


def escape(path: str) -> str:
    """The path as a pattern that matches only itself (put "/" in front where it has none inside)."""
    text = re.sub(r"([\\*?\[])", r"\\\1", path)
    if text[:1] in ("#", "!"):
        text = "\\" + text
    kept = text.rstrip(" ")
    return kept + "\\ " * (len(text) - len(kept))


def _strip_end(line: str) -> str:
    """Spaces at the end do not count, unless a backslash keeps them."""
    kept = line.rstrip(" ")
    if len(kept) < len(line):
        backslashes = len(kept) - len(kept.rstrip("\\"))
        if backslashes % 2:
            kept += " "
    return kept


@lru_cache(maxsize=4096)
def _make_regex(text: str) -> re.Pattern[str] | None:
    is_anchored = "/" in text
    body = _translate(text.removeprefix("/"))
    if body is None:
        return None
    return re.compile(body if is_anchored else f"(?:.*/)?{body}", re.DOTALL)


def _translate(text: str) -> str | None:
    made: list[str] = []
    at = 0
    while at < len(text):
        piece, at = _next_piece(text, at)
        if piece is None:
            return None
        made.append(piece)
    return "".join(made)


def _next_piece(text: str, at: int) -> tuple[str | None, int]:
    letter = text[at]
    if letter == "*":
        return _translate_stars(text, at)
    if letter == "?":
        return "[^/]", at + 1
    if letter == "[":
        return _translate_class(text, at)
    if letter == "\\":
        if at + 1 == len(text):
            return None, at
        return re.escape(text[at + 1]), at + 2
    return re.escape(letter), at + 1


def _translate_stars(text: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(text) and text[end] == "*":
        end += 1
    is_whole_part = end - at >= 2 and (at == 0 or text[at - 1] == "/")
    if is_whole_part and end == len(text):
        return ".+" if at else ".*", end
    if is_whole_part and text[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end


def _translate_class(text: str, at: int) -> tuple[str | None, int]:
    """`[a-z]`, `[!x]`, `[[:digit:]]`; None when it is never closed, which git takes for a pattern without a match."""
    end = at + 1
    is_negated = text[end : end + 1] in ("!", "^")
    end += is_negated
    members: list[str] = []
    is_first = True
    while is_first or text[end : end + 1] != "]":
        is_first = False
        named = re.compile(r"\[:(\w+):\]").match(text, end)
        if named:
            if named[1] not in _POSIX_CLASSES:
                return None, at
            members.append(_POSIX_CLASSES[named[1]])
            end = named.end()
            continue
        low, end = _class_letter(text, end)
        if low is None:
            return None, at
        if text[end : end + 1] == "-" and text[end + 1 : end + 2] not in ("", "]"):
            high, end = _class_letter(text, end + 1)
            if high is None:
                return None, at
            if low <= high:
                members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    return _format_class(members, is_negated=is_negated), end + 1


def _class_letter(text: str, at: int) -> tuple[str | None, int]:
    if text[at : at + 1] == "\\":
        at += 1
    return (text[at], at + 1) if at < len(text) else (None, at)


def _format_class(members: Sequence[str], *, is_negated: bool) -> str:
    inside = "".join(members)
    if is_negated:
        return f"[^/{inside}]"
    return f"(?!/)[{inside}]" if inside else "(?!)"
