"""What a folder's shape says about its files: classes by folder, train and validation splits, tables of metadata."""

import os

from windlass_job import disk
from windlass_job.shards import told as words
from windlass_job.shards.cutting import Batch
from windlass_job.shards.index import NO_CLASS
from windlass_job.shards.litter import is_documentation, is_litter_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

    from windlass_job.shards.told import Told

SPLITS = frozenset((b"train", b"training", b"val", b"valid", b"validation", b"dev", b"test", b"testing", b"eval"))
TABLES = (b"metadata.csv", b"metadata.jsonl")  # as Hugging Face's imagefolder and audiofolder have them
_SHOWN = 5
_LONGEST_NUMBER = 18
MOST_CLASSES = 100000  # more are no classes but a way to keep folders small


class Layout:
    """`depth`: which part of a name is its class (0 or 1); None where folders tell no class."""

    def __init__(self, classes: "Tuple[bytes, ...]", depth: "Optional[int]", words: str, tables: "List[bytes]") -> None:
        self.classes = classes
        self.depth = depth
        self.words = words
        self.tables = tables  # names of files


class Wished(tuple):  # type: ignore[type-arg]
    """Classes of before, whose numbers are kept if all of them are still there: none is left without files."""


def number_classes(labels: "Any", known: "Tuple[str, ...]") -> "Tuple[str, ...]":
    """Those that have a number keep it; numbers sort as numbers."""
    if isinstance(known, Wished):
        known = tuple(known) if set(known) <= set(labels) else ()
    new = set(labels) - set(known)
    # Longer ones are no numbers of classes, and Python refuses to read them from some length on.
    if new and all(label.isdecimal() and len(label) <= _LONGEST_NUMBER for label in new):
        return known + tuple(sorted(new, key=lambda label: (int(label), label)))
    return known + tuple(sorted(new, key=disk.as_path))


def describe_numbers(before: "Tuple[str, ...]", now: "Tuple[str, ...]") -> "Optional[str]":
    """Which classes have another number than before, in words."""
    old = {name: number for number, name in enumerate(before)}
    moved = ["{} is {}, was {}".format(name, at, old[name]) for at, name in enumerate(now) if old.get(name, at) != at]
    more = ", …" if len(moved) > _SHOWN else ""
    return "classes are numbered anew: {}{}".format(", ".join(moved[:_SHOWN]), more) if moved else None


def look(top: bytes, follow_folders: bool = False) -> Layout:
    """follow_folders: links to folders count as folders, as in the walk."""
    folders = _list_folders(top, follow_folders)
    splits = _find_splits(folders)
    below = sorted({name for split in splits for name in _list_folders(os.path.join(top, split), follow_folders)})
    tables = _find_tables(top, [b""] + [split + b"/" for split in splits])
    return Layout(*_judge(folders, below), tables=tables)


def find_linked_folders(top: bytes) -> "List[bytes]":
    """Links where classes would be, to folders outside: not followed, and their files would be missing."""
    if look(top, follow_folders=True).depth is None:
        return []
    inside = os.path.join(os.path.realpath(top), b"")
    places = [b""] + [split + b"/" for split in _find_splits(_list_folders(top, True))]
    found = [place + name for place in places for name in _list_folders(os.path.join(top, place), True)]
    links = [name for name in found if os.path.islink(os.path.join(top, name))]
    return [name for name in links if not os.path.realpath(os.path.join(top, name)).startswith(inside)]


class Names:
    """The folders of an archive, as the names of its files tell them; memory does not grow with it."""

    def __init__(self) -> None:
        self._levels = (set(), set(), set())  # type: Tuple[set[bytes], set[bytes], set[bytes]]
        self._has_files_on_top = False

    def add(self, name: bytes) -> None:
        """A folder's name ends with a slash."""
        parts = name.split(b"/", len(self._levels))
        if len(parts) == 1:
            self._has_files_on_top = True
        for level, part in zip(self._levels, parts[:-1]):
            if len(level) <= MOST_CLASSES and _may_be_class(part):
                level.add(part)

    def judge(self) -> Layout:
        """As of the folder that was archived: one folder around everything is that folder."""
        tops, below, deepest = (sorted(level) for level in self._levels)
        if len(tops) == 1 and below and not self._has_files_on_top and not _find_splits(tops):
            classes, depth, words = _judge(below, deepest)
            return Layout(classes, None if depth is None else depth + 1, words, [])
        return Layout(*_judge(tops, below), tables=[])


class Labeller:
    """Numbers of classes by the folders in names."""

    def __init__(self, classes: "Tuple[str, ...]", depth: int) -> None:
        self._numbers = {disk.as_path(name): number for number, name in enumerate(classes)}
        self._depth = depth

    def label(self, names: "List[bytes]") -> "List[int]":
        labels, label, folder = [], NO_CLASS, b"/"  # no name begins with a slash
        for name in names:
            if not name.startswith(folder):  # most lie beside the one before
                parts = name.split(b"/", self._depth + 1)
                is_below = len(parts) > self._depth + 1
                label = self._numbers.get(parts[self._depth], NO_CLASS) if is_below else NO_CLASS
                folder = b"/".join(parts[: self._depth + 1]) + b"/" if is_below else b"/"
            labels.append(label)
        return labels


def leave_documentation(batch: Batch, told: "Told") -> Batch:
    """What lies beside the folders of classes has none: what is for people is left out, the rest is told."""
    if NO_CLASS not in batch.labels:
        return batch
    kept = []
    for at, label in enumerate(batch.labels):
        is_left = label == NO_CLASS and is_documentation(batch.names[at])
        if label == NO_CLASS:
            told.add(words.DOCUMENTATION if is_left else words.BESIDE_CLASSES, batch.names[at])
        if not is_left:
            kept.append(at)
    return batch if len(kept) == len(batch) else batch.select(kept)


def _find_splits(folders: "List[bytes]") -> "List[bytes]":
    """All of them, or none."""
    return folders if folders and all(name.lower() in SPLITS for name in folders) else []


def _judge(folders: "List[bytes]", below: "List[bytes]") -> "Tuple[Tuple[bytes, ...], Optional[int], str]":
    """Classes, the part of a name they are, and both in words. below: the folders in `folders`."""
    splits = _find_splits(folders)
    if splits:
        if 1 < len(below) <= MOST_CLASSES:
            return tuple(below), 1, "the splits {} with a folder for each class".format(_list(splits))
        return (), None, "the splits {}, no folders of classes in them".format(_list(splits))
    if 1 < len(folders) <= MOST_CLASSES:
        return tuple(folders), 0, "a folder for each class"
    return (), None, "files without classes"


def _list_folders(folder: bytes, follow_folders: bool) -> "List[bytes]":
    """Links to folders are no classes where they are not walked."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=follow_folders)]
    except OSError:
        return []
    return sorted(name for name in found if _may_be_class(name))


def _may_be_class(folder: bytes) -> bool:
    """Hidden folders, such as .git, are none."""
    return not folder.startswith(b".") and not is_litter_folder(folder)


def _find_tables(top: bytes, folders: "List[bytes]") -> "List[bytes]":
    found: "Dict[bytes, bytes]" = {}
    for folder in folders:
        for name in TABLES:
            if os.path.isfile(os.path.join(top, folder + name)):
                found.setdefault(folder, folder + name)
    return list(found.values())


def _list(names: "List[bytes]") -> str:
    return ", ".join(name.decode("utf-8", "replace") for name in names)
