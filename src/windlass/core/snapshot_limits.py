"""Whether a project is small enough to be sent, and otherwise the words that say what to leave out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from windlass.core.ignore import escape, read_pattern
from windlass.core.selection import make_exact_pattern
from windlass.core.snapshot import format_name
from windlass.core.toml.writing import format_value
from windlass.core.units import format_bytes
from windlass.errors import SnapshotError

MB = 1_000_000
_MOST_CULPRITS = 5
_CODE = frozenset({".py", ".sh", ".toml", ".yaml", ".yml", ".cu", ".cpp", ".c", ".h"})
_DOMINANT = 0.6  # a folder whose biggest entry holds this much is not itself the culprit: the entry is


@dataclass(frozen=True, kw_only=True)
class Limits:
    max_mb: int
    max_files: int

    def fit(self, total_bytes: int, count: int) -> bool:
        return total_bytes <= self.max_mb * MB and count <= self.max_files


@dataclass(frozen=True, kw_only=True)
class Culprit:
    """Something whose leaving out helps most."""

    pattern: str
    label: str
    total_bytes: int
    count: int


def make_refusal(
    sizes: Mapping[str, int], limits: Limits, *, exclude: Sequence[str] = (), is_cut: bool = False
) -> SnapshotError | None:
    """None when it fits. `exclude`: what the user already has, so that the line can be pasted over it.

    `is_cut`: there are more files than these; the counting stopped.
    """
    total, count = sum(sizes.values()), len(sizes)
    if limits.fit(total, count):
        return None
    culprits, does_fit = find_culprits(sizes, limits)
    suggestion = format_value([*exclude, *(culprit.pattern for culprit in culprits)])
    raised = _format_raised(total, count, limits)
    hint = f"leave them out under [run]:\n  exclude = {suggestion}\n"
    hint += f"or, if you mean to send them all: {raised}" if does_fit else f"and, if that is not enough: {raised}"
    return SnapshotError(
        _format_excess(total, count, limits, is_cut=is_cut),
        details=[_format_culprit(culprit) for culprit in culprits],
        hint=hint,
        done="nothing was sent",
    )


def find_culprits(sizes: Mapping[str, int], limits: Limits) -> tuple[list[Culprit], bool]:
    """The few biggest things to leave out, and whether the rest fits then."""
    left = dict(sizes)
    culprits: list[Culprit] = []
    while not (fits := limits.fit(sum(left.values()), len(left))) and len(culprits) < _MOST_CULPRITS:
        by_bytes = sum(left.values()) > limits.max_mb * MB
        text, label = _find_biggest(left, by_bytes=by_bytes)
        pattern = read_pattern(text)
        assert pattern is not None, text
        chosen = {path for path in left if pattern.matches(path, is_folder=False)}
        weight = sum(left[path] for path in chosen)
        culprits.append(Culprit(pattern=text, label=label, total_bytes=weight, count=len(chosen)))
        for path in chosen:
            del left[path]
    return culprits, fits


def _find_biggest(sizes: Mapping[str, int], *, by_bytes: bool) -> tuple[str, str]:
    """A pattern and what to call it: go down from the top to where the weight is."""
    folder = ""
    inside: Mapping[str, int] = sizes
    while True:
        weights: dict[str, int] = defaultdict(int)
        for path, size in inside.items():
            weights[path[len(folder) :].partition("/")[0]] += size if by_bytes else 1
        name = max(weights, key=lambda one: weights[one])
        if folder and (weights[name] < _DOMINANT * sum(weights.values()) or (not by_bytes and weights[name] == 1)):
            return _make_folder_pattern(folder, inside, by_bytes=by_bytes)
        if folder + name in inside:
            return make_exact_pattern(folder + name), folder + name
        folder += name + "/"
        inside = {path: size for path, size in inside.items() if path.startswith(folder)}


def _make_folder_pattern(folder: str, inside: Mapping[str, int], *, by_bytes: bool) -> tuple[str, str]:
    """The folder; where it holds code as well, only its files of the heaviest kind."""
    weights: dict[str, int] = defaultdict(int)
    for path, size in inside.items():
        weights[PurePosixPath(path).suffix] += size if by_bytes else 1
    heaviest = max(weights, key=lambda suffix: weights[suffix])
    if heaviest and heaviest not in _CODE and not _CODE.isdisjoint(weights):
        return f"{escape(folder)}**/*{escape(heaviest)}", f"{folder}**/*{heaviest}"
    return f"{escape(folder)}**", folder


def _format_excess(total: int, count: int, limits: Limits, *, is_cut: bool) -> str:
    more = "more than " if is_cut else ""
    what = f"the project has {more}{count:,} files of {more}{format_bytes(total)} in all"
    if total > limits.max_mb * MB and count > limits.max_files:
        return f"{what}: at most {limits.max_files:,} files and {limits.max_mb:,} MB are sent"
    if count > limits.max_files:
        return f"{what}: at most {limits.max_files:,} files are sent"
    return f"{what}: at most {limits.max_mb:,} MB are sent"


def _format_raised(total: int, count: int, limits: Limits) -> str:
    raised = []
    if total > limits.max_mb * MB:
        raised.append(f"max_mb = {-(-total // MB)}")
    if count > limits.max_files:
        raised.append(f"max_files = {count}")
    return ", ".join(raised)


def _format_culprit(culprit: Culprit) -> str:
    line = f"{format_bytes(culprit.total_bytes):>9}  {format_name(culprit.label)}"
    return line if culprit.count == 1 else f"{line}  ({culprit.count:,} files)"
