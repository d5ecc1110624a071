"""Where files to pack come from: a folder, a list of paths, a table of paths and labels, or an archive."""

import codecs
import os
import stat

from windlass_job import disk
from windlass_job.shards import layouts
from windlass_job.shards import told as words
from windlass_job.shards.archives import TarSource, ZipSource
from windlass_job.shards.card import CARD, is_packed, list_others
from windlass_job.shards.cutting import Batch
from windlass_job.shards.index import NO_CLASS
from windlass_job.shards.layouts import number_classes
from windlass_job.shards.naming import name_below
from windlass_job.shards.readers import FileReader
from windlass_job.shards.rows import Rows
from windlass_job.shards.sorting import LARGEST_RUN
from windlass_job.shards.table_rows import TableUnreadable
from windlass_job.shards.tables import Table, is_table
from windlass_job.shards.walking import NoFolder, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, Tuple

    from windlass_job.shards.told import Told

_TARS = (b".tar", b".tar.gz", b".tgz", b".tar.bz2", b".tbz2", b".tar.xz", b".txz")
_BATCH = 2000


def choose_source(
    path: bytes,
    kind: str = "auto",
    follow_folders: bool = False,
    labels: "Optional[bytes]" = None,
    outside: bool = False,
) -> "Any":
    """kind: folder, list, table, tar or zip; `auto` looks at what is there. labels: a table about a folder's files.

    outside: also files that a list or a table names outside of its own folder.
    """
    for one in (path,) if labels is None else (path, labels):
        _refuse_special(one)
    if kind == "auto":
        kind = guess_kind(path)
    if kind == "folder":
        _refuse_packed(path)
        _refuse_packed_inside(path)
        return FolderSource(path, follow_folders, labels)
    if labels is not None:
        raise NoFolder("{} is no folder, and a table of labels is for the files of one".format(disk.as_text(path)))
    return _NAMED[kind](path, outside) if kind in _NAMED else _ARCHIVES[kind](path)


def _refuse_special(path: bytes) -> None:
    """A pipe or a device may give bytes for ever, or none."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return  # told by whoever opens it
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise NoFolder("{} is neither a file nor a folder, but a pipe or a device".format(disk.as_text(path)))


def _refuse_packed(path: bytes) -> None:
    """Shards must not become samples of another data set."""
    if not is_packed(path):
        return
    others = list_others(path)
    if not others:
        raise NoFolder("{} is a packed data set already".format(disk.as_text(path)))
    shown = ", ".join(disk.as_text(name) for name in others[:3]) + (", …" if len(others) > 3 else "")
    raise NoFolder(
        "{0} holds a packed data set ({1} and its shards) and other files ({2}): move one of them away, such as "
        "mkdir {0}-packed && mv {0}/{1} {0}/shard-* {0}-packed/".format(disk.as_text(path), CARD, shown)
    )


def _refuse_packed_inside(top: bytes) -> None:
    """Shards would become samples. A folder of other things may have a data set among them."""
    folders, has_samples = layouts.scan(top, False)
    paths = [os.path.join(top, name) for name in folders]
    if paths and not has_samples and all(is_packed(one) for one in paths):
        shown = ", ".join(disk.as_text(one) for one in paths[:3]) + (", …" if len(paths) > 3 else "")
        raise NoFolder(
            "{} holds packed data sets only: name the one that is meant: {}".format(disk.as_text(top), shown)
        )


def _refuse_linked(top: bytes) -> None:
    linked = layouts.find_linked_folders(top)
    if linked:
        shown = ", ".join(disk.as_text(name) for name in linked[:3]) + (", …" if len(linked) > 3 else "")
        raise NoFolder(
            "folders in {} are links to folders elsewhere: {}; add --follow-links to pack their files, or remove the "
            "links".format(disk.as_text(top), shown)
        )


def guess_kind(path: bytes) -> str:
    lower = path.lower()
    if os.path.isdir(path):
        return "folder"
    if not os.path.exists(path):
        raise NoFolder("{} is not there".format(disk.as_text(path)))
    if lower.endswith(_TARS):
        return "tar"
    if lower.endswith(b".zip"):
        return "zip"
    return "table" if is_table(path) else "list"


class FolderSource:
    """All files below a folder; classes from its folders, from a table of metadata in it, or from that of labels."""

    is_sequential = False

    def __init__(self, path: bytes, follow_folders: bool = False, labels: "Optional[bytes]" = None) -> None:
        self.path = os.path.abspath(path)
        self._follow = follow_folders
        if not follow_folders:
            _refuse_linked(self.path)
        layout = layouts.look(self.path, follow_folders)
        self._layout = layout
        self.words = layout.words
        # Each with the folder below this one from which its paths count.
        self._tables = [self._open_table(name) for name in layout.tables]
        if labels is not None:
            self._tables = [(Table(os.path.abspath(labels), self.path, must_label=True), b"")]
        self.classes = tuple(disk.as_text(name) for name in layout.classes)
        self.columns = ()  # type: Tuple[str, ...]

    def iterate(self, told: "Told", known: "Tuple[str, ...]", scratch: "Optional[bytes]" = None) -> "Iterator[Batch]":
        """known: classes that have a number already."""
        rows = Rows(scratch)
        for table, folder in self._tables:
            rows.add_table(table, folder, self.path, told)
        must_look = any(table.label_column is not None for table, _ in self._tables)
        rows.settle(told, lambda path: not must_look or os.path.isfile(os.path.join(self.path, path)))
        found = self._leave_tables(walk(self.path, told, self._follow, scratch), told)
        if self._tables:
            self.columns = rows.columns
            first = disk.as_text(os.path.basename(self._tables[0][0].path))
            self.words = "classes from " + first if rows.labels else self._layout.words + ", with " + first
        if rows.labels:
            self.classes = number_classes(rows.labels, known)
            return self._join(found, rows, told)
        self._layout.tell(told)
        self.classes = number_classes(set(self.classes), known)
        labelled = self._label(found, told)
        return self._join(labelled, rows, told) if self._tables else labelled

    def open_reader(self) -> FileReader:
        return FileReader(self.path)

    def _open_table(self, name: bytes) -> "Tuple[Table, bytes]":
        path = os.path.join(self.path, name)
        return Table(path, os.path.dirname(path)), os.path.dirname(name)

    def _label(self, found: "Iterator[Any]", told: "Told") -> "Iterator[Batch]":
        depth = self._layout.depth
        if depth is None:
            for names, sizes, mtimes in found:
                yield Batch(names, sizes, mtimes)
            return
        labeller = layouts.Labeller(self.classes, depth)
        for names, sizes, mtimes in found:
            yield layouts.leave_documentation(Batch(names, sizes, mtimes, labeller.label(names)), told)

    def _leave_tables(self, found: "Iterator[Any]", told: "Told") -> "Iterator[Any]":
        """What they say is in classes and columns already, or cannot be read."""
        own = {name for name in (name_below(table.path, self.path) for table, _ in self._tables) if name}
        own |= self._layout.unread
        for name in sorted(self._layout.unread):
            told.add(words.UNREAD_TABLE, name)
        for names, sizes, mtimes in found:
            if not own.isdisjoint(names):
                kept = [at for at, name in enumerate(names) if name not in own]
                names, sizes, mtimes = ([values[at] for at in kept] for values in (names, sizes, mtimes))
            yield names, sizes, mtimes

    def _join(self, found: "Iterator[Any]", rows: "Rows", told: "Told") -> "Iterator[Batch]":
        """Both are in the order of names."""
        numbers = {name: number for number, name in enumerate(self.classes)}
        merged = rows.iterate()
        row = next(merged, None)
        for batch in found:
            if not isinstance(batch, Batch):
                batch = Batch(*batch)
            batch.columns = [{} for _ in batch.names]
            for at, name in enumerate(batch.names):
                while row is not None and row[0] < name:
                    told.add(words.NO_FILE, row[0])
                    row = next(merged, None)
                if row is not None and row[0] == name:
                    batch.columns[at] = row[3]
                    if rows.labels:
                        batch.labels[at] = numbers.get(row[2] or "", NO_CLASS)
                    row = next(merged, None)
                elif rows.labels:
                    told.add(words.NO_ROW, name)
            yield batch
        while row is not None:
            told.add(words.NO_FILE, row[0])
            row = next(merged, None)


class RowSource:
    """Files that are named one by one: in a list, or in a table with labels and columns."""

    is_sequential = False

    def __init__(self, path: bytes, outside: bool = False, largest_run: int = LARGEST_RUN) -> None:
        """largest_run: so many rows are held in memory."""
        self.path = os.path.abspath(path)
        self._base = os.path.dirname(self.path)
        self._outside = outside
        self._largest_run = largest_run
        self.classes = ()  # type: Tuple[str, ...]
        self.columns = ()  # type: Tuple[str, ...]
        self.words = "the files named in " + disk.as_text(os.path.basename(self.path))

    def open_reader(self) -> FileReader:
        return FileReader(self._base)

    def iterate(self, told: "Told", known: "Tuple[str, ...]", scratch: "Optional[bytes]" = None) -> "Iterator[Batch]":
        rows = Rows(scratch, self._outside, words.OUTSIDE, self._largest_run)
        self._fill(rows, told)
        rows.settle(told, self._is_there)
        self.columns = rows.columns
        self.classes = number_classes(rows.labels, known)
        return self._look(rows, told)

    def _fill(self, rows: "Rows", told: "Told") -> None:
        raise NotImplementedError

    def _is_there(self, path: bytes) -> bool:
        return os.path.isfile(os.path.join(self._base, path))

    def _look(self, rows: "Rows", told: "Told") -> "Iterator[Batch]":
        numbers = {name: number for number, name in enumerate(self.classes)}
        lists = [[], [], [], [], [], []]  # type: List[List[Any]]
        for name, path, label, columns in rows.iterate():
            seen = _look_at(os.path.join(self._base, path), name, told)
            if seen is None:
                continue
            number = numbers.get(label, NO_CLASS) if label is not None else NO_CLASS
            where = None if path == name else os.path.join(self._base, path)
            for values, value in zip(lists, (name, seen.st_size, seen.st_mtime_ns, number, where, columns)):
                values.append(value)
            if len(lists[0]) >= _BATCH:
                yield _make_batch(lists)
                lists = [[], [], [], [], [], []]
        if lists[0]:
            yield _make_batch(lists)


class ListSource(RowSource):
    """Paths, one a line, or with NUL between them; relative ones count from the list's own folder."""

    def _fill(self, rows: "Rows", told: "Told") -> None:
        for path in _read_list(self.path):
            rows.add(path, self._base, None, {}, told)

    def _is_there(self, path: bytes) -> bool:
        return True  # there are no labels: it is looked at once, later


class TableSource(RowSource):
    def _fill(self, rows: "Rows", told: "Told") -> None:
        rows.add_table(Table(self.path, self._base), b"", self._base, told)


_NAMED = {"list": ListSource, "table": TableSource}
_ARCHIVES = {"tar": TarSource, "zip": ZipSource}


def _make_batch(lists: "List[List[Any]]") -> Batch:
    names, sizes, mtimes, labels, wheres, columns = lists
    return Batch(names, sizes, mtimes, labels, wheres if any(wheres) else None, columns if any(columns) else None)


def _look_at(path: bytes, name: bytes, told: "Told") -> "Optional[os.stat_result]":
    try:
        seen = os.stat(path)
    except OSError:
        told.add(words.NO_FILE, name)
        return None
    if not stat.S_ISREG(seen.st_mode):
        told.add(words.DEVICE if not stat.S_ISDIR(seen.st_mode) else words.NO_FILE, name)
        return None
    return seen


def _read_list(path: bytes) -> "Iterator[bytes]":
    with open(path, "rb") as file:
        start = file.read(1 << 16)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise TableUnreadable("{} is UTF-16: save the list as UTF-8".format(disk.as_text(path)))
        between = b"\0" if b"\0" in start else b"\r\n" if b"\r\n" in start else b"\n"
        file.seek(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
        rest = b""
        while True:
            more = file.read(1 << 16)
            if not more:
                break
            pieces = (rest + more).split(between)
            rest = pieces.pop()
            for piece in pieces:
                if piece:
                    yield piece
        if rest:
            yield rest
