"""What a folder's shape says about its files: classes by folder, train and validation splits, tables of metadata."""

import os

from windlass_job import disk
from windlass_job.shards import told as words
from windlass_job.shards.cutting import Batch
from windlass_job.shards.index import NO_CLASS
from windlass_job.shards.litter import is_documentation, is_litter_file, is_litter_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Optional, Tuple

    from windlass_job.shards.told import Told

SPLITS = frozenset((b"train", b"training", b"val", b"valid", b"validation", b"dev", b"test", b"testing", b"eval"))
TABLES = (b"metadata.csv", b"metadata.jsonl")  # as Hugging Face's imagefolder and audiofolder have them
UNREAD_TABLES = (b"metadata.parquet",)
_MOST_AROUND = 2  # folders around everything: `data` of a repository, and what it was unpacked into
_SHOWN = 5
_LONGEST_NUMBER = 18
MOST_CLASSES = 100000  # more are no classes but a way to keep folders small


class Layout:
    """`depth`: which part of a name is its class, from 0 on; None where folders tell no class."""

    def __init__(
        self,
        classes: "Tuple[bytes, ...]",
        depth: "Optional[int]",
        words: str,
        tables: "Iterable[bytes]" = (),
        unread: "Iterable[bytes]" = (),
        likely: "Optional[bytes]" = None,
    ) -> None:
        self.classes = classes
        self.depth = depth
        self.words = words
        self.tables = list(tables)  # names of files
        self.unread = frozenset(unread)  # tables that cannot be read here
        self.likely = likely  # a folder that would have classes if it were packed alone

    def tell(self, told: "Told") -> None:
        if self.likely is not None:
            text = "no classes were found, and all labels are -1; folders in {0} look like classes: pack {0} alone"
            told.notes.append(text.format(disk.as_text(self.likely)))


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
    around, folders = _enter(top, follow_folders)
    places = _list_places(around, folders)
    classes, depth, shape = _judge_in(top, around, folders, follow_folders)
    likely = None
    if depth is None and len(folders) == 1 and not _find_splits(folders):
        alone = around + folders[0]
        inside = _list_folders(os.path.join(top, alone), follow_folders)
        likely = alone if _judge_in(top, alone + b"/", inside, follow_folders)[1] is not None else None
    tables, unread = (_find_tables(top, places, kinds) for kinds in (TABLES, UNREAD_TABLES))
    return Layout(classes, depth, shape, tables, unread, likely)


def find_linked_folders(top: bytes) -> "List[bytes]":
    """Links where classes would be, to folders outside: not followed, and their files would be missing."""
    if look(top, follow_folders=True).depth is None:
        return []
    inside = os.path.join(os.path.realpath(top), b"")
    places = _list_places(*_enter(top, True))
    found = [place + name for place in places for name in _list_folders(os.path.join(top, place), True)]
    links = [name for name in found if os.path.islink(os.path.join(top, name))]
    return [name for name in links if not os.path.realpath(os.path.join(top, name)).startswith(inside)]


class Names:
    """The folders of an archive, as the names of its files tell them; memory does not grow with it."""

    def __init__(self) -> None:
        self._most_around = _MOST_AROUND + 1  # and the folder that was archived, as `tar cf x.tar x` has it
        self._levels = tuple(set() for _ in range(self._most_around + 3))  # type: Tuple[set[bytes], ...]
        self._has_samples = [False] * len(self._levels)  # at each level, beside its folders

    def add(self, name: bytes) -> None:
        """A folder's name ends with a slash."""
        parts = name.split(b"/", len(self._levels))
        for level, part in zip(self._levels, parts[:-1]):
            if not _may_be_class(part):
                return
            if len(level) <= MOST_CLASSES:
                level.add(part)
        above = len(parts) - 1
        if above < len(self._levels) and not self._has_samples[above]:
            self._has_samples[above] = _may_be_sample(parts[-1])

    def judge(self) -> Layout:
        """As of the folder that was archived."""
        levels, at = [sorted(level) for level in self._levels], 0
        while at < self._most_around and levels[at + 1] and _is_around(levels[at], self._has_samples[at]):
            at += 1
        around = b"".join(level[0] + b"/" for level in levels[:at])
        classes, depth, shape = _judge(levels[at], levels[at + 1], around)
        likely = None
        if depth is None and len(levels[at]) == 1 and not _find_splits(levels[at]):
            alone = around + levels[at][0]
            likely = alone if _judge(levels[at + 1], levels[at + 2], alone + b"/")[1] is not None else None
        return Layout(classes, depth, shape, likely=likely)


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


def _enter(top: bytes, follow_folders: bool) -> "Tuple[bytes, List[bytes]]":
    """Through folders that are around everything: the path to what is in them, and the folders there."""
    around, (folders, has_samples) = b"", scan(top, follow_folders)
    while around.count(b"/") < _MOST_AROUND and _is_around(folders, has_samples):
        inside = around + folders[0] + b"/"
        found = scan(os.path.join(top, inside), follow_folders)
        if not found[0]:
            break
        around, (folders, has_samples) = inside, found
    return around, folders


def _is_around(folders: "List[bytes]", has_samples: bool) -> bool:
    return len(folders) == 1 and not has_samples and not _find_splits(folders)


def _list_places(around: bytes, folders: "List[bytes]") -> "List[bytes]":
    """Where folders of classes and tables may lie, with a slash at the end."""
    above = [around[: at + 1] for at in range(len(around)) if around[at : at + 1] == b"/"]
    return [b""] + above + [around + split + b"/" for split in _find_splits(folders)]


def _judge_in(
    top: bytes, around: bytes, folders: "List[bytes]", follow_folders: bool
) -> "Tuple[Tuple[bytes, ...], Optional[int], str]":
    """folders: those in `around`."""
    places = [os.path.join(top, around + split) for split in _find_splits(folders)]
    return _judge(folders, sorted({name for place in places for name in _list_folders(place, follow_folders)}), around)


def _judge(
    folders: "List[bytes]", below: "List[bytes]", around: bytes
) -> "Tuple[Tuple[bytes, ...], Optional[int], str]":
    """Classes, the part of a name they are, and both in words. below: the folders in `folders`."""
    splits, depth, where = _find_splits(folders), around.count(b"/"), ""
    if around:
        where = " in " + disk.as_text(around[:-1])
    if splits:
        if 1 < len(below) <= MOST_CLASSES:
            return tuple(below), depth + 1, "the splits {}{} with a folder for each class".format(_list(splits), where)
        return (), None, "the splits {}{}, no folders of classes in them".format(_list(splits), where)
    if 1 < len(folders) <= MOST_CLASSES:
        return tuple(folders), depth, "a folder for each class" + where
    return (), None, "files without classes"


def _list_folders(folder: bytes, follow_folders: bool) -> "List[bytes]":
    return scan(folder, follow_folders)[0]


def scan(folder: bytes, follow_folders: bool) -> "Tuple[List[bytes], bool]":
    """Its folders, and whether samples may lie beside them. Links to folders are no classes where none is walked."""
    folders, has_samples = [], False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=follow_folders):
                    folders.append(entry.name)
                elif not has_samples and not entry.is_dir():
                    has_samples = _may_be_sample(entry.name)
    except OSError:
        return [], False
    return sorted(name for name in folders if _may_be_class(name)), has_samples


def _may_be_sample(name: bytes) -> bool:
    """Of a file: what is hidden, for people or about others is none, and lies beside folders that are around all."""
    is_about = name in TABLES or name in UNREAD_TABLES or is_documentation(name)
    return bool(name) and not name.startswith(b".") and not is_about and not is_litter_file(name)


def _may_be_class(folder: bytes) -> bool:
    """Hidden folders, such as .git, are none."""
    return not folder.startswith(b".") and not is_litter_folder(folder)


def _find_tables(top: bytes, folders: "List[bytes]", names: "Tuple[bytes, ...]") -> "List[bytes]":
    found: "Dict[bytes, bytes]" = {}
    for folder in folders:
        for name in names:
            if os.path.isfile(os.path.join(top, folder + name)):
                found.setdefault(folder, folder + name)
    return list(found.values())


def _list(names: "List[bytes]") -> str:
    return ", ".join(name.decode("utf-8", "replace") for name in names)
