"""What Lmod and Environment Modules (Tcl) print, as values. Recorded texts lie in tests/core/modules/answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from windlass.core.shell import is_module

# gcc/12.3(default), daint-gpu/19.10 <L:S>, numpy/1.25.1 (E), PyTorch/2.1 (D)
_MARKS = re.compile(r"\s*(?:\([^()]*\)|<[^<>]*>)\s*$")
_DIRECT = "This module can be loaded directly"
_FIRST_LOAD = re.compile(
    r"You will need to load all module\(s\) .*?available\s+to\s+load\.|"
    r"Additional variants of this module can also be loaded after loading the following modules:",
    re.DOTALL,
)
_EXTENSION = re.compile(r"This extension is provided by the following modules\..*?software\s+hierarchy\.", re.DOTALL)
_DESCRIPTION = re.compile(r"^ {4}Description:\s*\n\s+(?P<text>\S[^\n]*)", re.MULTILINE)
_PROVIDER = re.compile(r"(?P<name>\S+)(?: \((?P<first>[^()]*)\))?")
_ABOUT = re.compile(r"^ {2}(?P<name>\S+): (?P<versions>[^\n]+)(?:\n {4}(?P<text>\S[^\n]*))?", re.MULTILINE)
_WHATIS = re.compile(r"^\s*(?P<name>[^\s:]+)\s*: (?P<text>\S[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Details:
    """What `module spider NAME/VERSION` tells."""

    about: str = ""
    ways: tuple[tuple[str, ...], ...] = ()  # what to load first, one of these; an empty one: nothing
    providers: tuple[tuple[str, ...], ...] = ()  # of an extension: what to load to have it, one of these


@dataclass(frozen=True, kw_only=True)
class Mention:
    """A module that says something about the word looked for."""

    names: tuple[str, ...]
    about: str = ""


def read_names(text: str) -> tuple[str, ...]:
    """Of `module -t spider`, and of `module avail -t`: full names, as they are loaded."""
    lines = [_strip_marks(line) for line in text.splitlines()]
    names = [line for line in lines if is_module(line) and not line.endswith((":", "/")) and not line.startswith("/")]
    return tuple(dict.fromkeys(names))


def read_spider(text: str) -> Details:
    """Of Lmod's `module spider NAME/VERSION`; nothing where it tells of something else."""
    found = _DESCRIPTION.search(text)
    return Details(
        about=found["text"].strip() if found else "",
        ways=(*(((),) if _DIRECT in text else ()), *_read_first_loads(text)),
        providers=tuple(_read_providers(text)),
    )


def read_keyword(text: str) -> tuple[Mention, ...]:
    """Of Lmod's `module keyword WORD`."""
    found = []
    for match in _ABOUT.finditer(text):
        names = tuple(one for one in (_strip_marks(part) for part in match["versions"].split(",")) if is_module(one))
        if names and all(name.startswith(match["name"]) for name in names):
            found.append(Mention(names=names, about=(match["text"] or "").strip()))
    return tuple(found)


def read_whatis(text: str) -> tuple[Mention, ...]:
    """Of Tcl's `module whatis`, `search` and `keyword`; some versions print a line for each `whatis` of a module."""
    said: dict[str, list[str]] = {}
    for match in _WHATIS.finditer(text):
        if is_module(match["name"]) and not match["name"].startswith("/"):
            said.setdefault(match["name"], []).append(match["text"].strip())
    return tuple(Mention(names=(name,), about="; ".join(words)) for name, words in said.items())


def _strip_marks(line: str) -> str:
    line = line.strip()
    while (bare := _MARKS.sub("", line)) != line:
        line = bare
    return line


def _read_first_loads(text: str) -> Iterator[tuple[str, ...]]:
    """The lines after the sentence: one way each."""
    found = _FIRST_LOAD.search(text)
    if found is None:
        return
    for line in _read_block(text[found.end() :]):
        names = tuple(line.split())
        if all(is_module(name) for name in names):
            yield names


def _read_providers(text: str) -> Iterator[tuple[str, ...]]:
    found = _EXTENSION.search(text)
    if found is None:
        return
    for line in _read_block(text[found.end() :]):
        match = _PROVIDER.fullmatch(line)
        names = (*(match["first"] or "").split(), match["name"]) if match else ()
        if names and all(is_module(name) for name in names):
            yield names


def _read_block(text: str) -> Iterator[str]:
    """The first lines that stand together, after empty ones."""
    is_begun = False
    for line in text.splitlines():
        if line.strip():
            is_begun = True
            yield line.strip()
        elif is_begun:
            return
