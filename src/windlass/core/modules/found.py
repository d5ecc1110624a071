"""Modules that answer a search: which are meant, the newest first, each with all that must be loaded before it."""

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from windlass.core.modules.answers import Details, Mention
from windlass.core.toml.writing import format_value

_PARTS = re.compile(r"\d+|[A-Za-z]+")
_BEFORE = frozenset(("a", "alpha", "b", "beta", "dev", "pre", "rc"))  # what comes before a release
_END = (0, 0, "")
_CUDA = re.compile(
    r"(?:^|[^A-Za-z])cuda(?:toolkit|core)?(?:[-_/]?v?(?P<version>\d+(?:\.\d+)*))?(?![A-Za-z])", re.IGNORECASE
)
_CU = re.compile(r"(?:^|[^A-Za-z])cu(?P<major>\d\d)(?P<minor>\d)(?!\d)")
_ROCM = re.compile(r"(?:^|[^A-Za-z])(?:rocm|hip)(?:[-_/]?v?(?P<version>\d+(?:\.\d+)*))?(?![A-Za-z])", re.IGNORECASE)
_CPU = re.compile(r"(?:^|[^A-Za-z])cpu(?:only)?(?![A-Za-z])", re.IGNORECASE)
_GPU = re.compile(r"(?:^|[^A-Za-z])gpu(?![A-Za-z])", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class FoundModule:
    """One that can be loaded."""

    name: str  # with its version
    load: tuple[str, ...]  # all that is loaded, in this order; it is the last
    others: tuple[tuple[str, ...], ...] = ()  # other ways, where there are several
    gpu: str | None = None  # "CUDA 12.1", "ROCm 5.7", "no GPU"; None: its name does not tell
    about: str = ""  # one line, in its own words
    inside: str | None = None  # what was looked for is a part of it, such as numpy/1.25.1

    @property
    def load_line(self) -> str:
        return f"module load {' '.join(self.load)}"

    @property
    def toml_line(self) -> str:
        return f"modules = {format_value(self.load)}"


def split_name(full: str) -> tuple[str, str]:
    """Such as ("PyTorch", "2.1.0-CUDA-12"); the version is empty where there is none."""
    name, slash, version = full.rpartition("/")
    return (name, version) if slash else (full, "")


def version_key(full: str) -> tuple[tuple[int, int, str], ...]:
    """By which the newest is the greatest: 2.10 comes after 2.9, and 2.9-rc1 before it."""
    parts = _PARTS.findall(split_name(full)[1] or full)
    return (*(_rank(part) for part in parts), _END)


def _rank(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        return (2, int(part[:18]), "")
    return (-1 if part.lower() in _BEFORE else 1, 0, part.lower())


def sort_newest_first(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=version_key, reverse=True))


def pick_names(names: Sequence[str], wanted: str, version: str | None = None) -> tuple[str, ...]:
    """Those that are called so, whatever the case; else those with the word in their name. The newest first."""
    word, given = (wanted, version) if version or "/" not in wanted else split_name(wanted)
    if word in names and given is None:
        return (word,)
    called = [one for one in names if _is_called(one, word)] or _pick_containing(names, word)
    called = called or [one for one in names if one.lower() == wanted.lower()]
    return sort_newest_first(one for one in called if given is None or _has_version(one, given))


def list_similar(names: Sequence[str], wanted: str, *, but: Sequence[str] = (), most: int = 6) -> tuple[str, ...]:
    """Names without versions that hold the word, or are nearly the same."""
    word = (split_name(wanted)[0] if "/" in wanted else wanted).lower()
    out = {split_name(one)[0] for one in but}
    bare = {name.lower(): name for name in (split_name(one)[0] for one in names) if name not in out}
    holding = [name for low, name in sorted(bare.items()) if word in low]
    close = [bare[low] for low in difflib.get_close_matches(word, bare, n=most, cutoff=0.75)]
    return tuple(dict.fromkeys((*holding, *close)))[:most]


def make_found(name: str, details: Details, always_load: Sequence[str]) -> tuple[FoundModule, ...]:
    """The module, or those that hold it where it is an extension of theirs."""
    if not details.providers:
        return (_make_one(name, [(*way, name) for way in details.ways or ((),)], details.about, always_load),)
    by_name: dict[str, list[tuple[str, ...]]] = {}
    for line in details.providers:
        by_name.setdefault(line[-1], []).append(line)
    ordered = sort_newest_first(by_name)
    return tuple(_make_one(one, by_name[one], details.about, always_load, inside=name) for one in ordered)


def merge_mentions(mentions: Sequence[Mention]) -> Mapping[str, str]:
    """Full names and what they say of themselves."""
    return {name: one.about for one in mentions for name in one.names}


def tell_gpu(names: Iterable[str]) -> str | None:
    """What a module's own name, or those it is loaded with, say about GPUs."""
    names = tuple(reversed(tuple(names)))
    for name in names:
        for label, pattern in (("CUDA", _CUDA), ("ROCm", _ROCM)):
            if found := pattern.search(name):
                return f"{label} {found['version']}" if found["version"] else label
        if found := _CU.search(name):
            return f"CUDA {found['major']}.{found['minor']}"
    if names and _CPU.search(names[0]):
        return "no GPU"
    return "GPU" if names and _GPU.search(names[0]) else None


def complete(load: Sequence[str], always_load: Sequence[str]) -> tuple[str, ...]:
    """With what everything at the site needs; where another version of that is needed, it takes its place."""
    named = {split_name(one)[0] for one in load}
    return tuple(dict.fromkeys((*(one for one in always_load if split_name(one)[0] not in named), *load)))


def _make_one(
    name: str, lines: Sequence[Sequence[str]], about: str, always_load: Sequence[str], *, inside: str | None = None
) -> FoundModule:
    def prefer(line: Sequence[str]) -> tuple[object, ...]:
        """What the site loads anyway, then few modules; GCC before Intel, as Lmod lists them."""
        return (-sum(one in always_load for one in line), len(line), [split_name(one)[0] for one in line])

    newest_first = sorted(lines, key=lambda line: [version_key(one) for one in line], reverse=True)
    first, *others = [complete(line, always_load) for line in sorted(newest_first, key=prefer)]
    return FoundModule(name=name, load=first, others=tuple(others), gpu=tell_gpu(first), about=about, inside=inside)


def _is_called(full: str, word: str) -> bool:
    """Categories may stand before a name: bio/GROMACS/2021."""
    name = split_name(full)[0].lower()
    return name == word.lower() or name.rpartition("/")[2] == word.lower()


def _pick_containing(names: Sequence[str], word: str) -> list[str]:
    return [one for one in names if word.lower() in split_name(one)[0].lower()]


def _has_version(full: str, wanted: str) -> bool:
    """2.1 is also 2.1.0-CUDA-12, but not 2.10."""
    version = split_name(full)[1].lower()
    rest = version[len(wanted) :]
    return version.startswith(wanted.lower()) and not (rest[:1].isdigit() and wanted[-1:].isdigit())
