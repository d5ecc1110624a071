"""What a folder's shape says about its files: classes by folder, train and validation splits, tables of metadata."""

import os

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

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


def look(top: bytes) -> Layout:
    folders = _list_folders(top)
    splits = [name for name in folders if name.lower() in SPLITS]
    if folders and len(splits) == len(folders):
        below = sorted({name for split in splits for name in _list_folders(os.path.join(top, split))})
        tables = _find_tables(top, [b""] + [split + b"/" for split in splits])
        if 1 < len(below) <= MOST_CLASSES:
            return Layout(tuple(below), 1, "the splits {} with a folder for each class".format(_list(splits)), tables)
        return Layout((), None, "the splits {}, no folders of classes in them".format(_list(splits)), tables)
    tables = _find_tables(top, [b""])
    if 1 < len(folders) <= MOST_CLASSES:
        return Layout(tuple(folders), 0, "a folder for each class", tables)
    return Layout((), None, "files without classes", tables)


def _list_folders(folder: bytes) -> "List[bytes]":
    """Links to folders are not walked, so they are no classes either."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _find_tables(top: bytes, folders: "List[bytes]") -> "List[bytes]":
    found: "Dict[bytes, bytes]" = {}
    for folder in folders:
        for name in TABLES:
            if os.path.isfile(os.path.join(top, folder + name)):
                found.setdefault(folder, folder + name)
    return list(found.values())


def _list(names: "List[bytes]") -> str:
    return ", ".join(name.decode("utf-8", "replace") for name in names)
