"""Rows about files: paths with labels and further columns, from CSV, TSV or JSON lines."""

import itertools
import json
import os

from windlass_job import disk
from windlass_job.shards.table_columns import LABELS, PATHS, choose, name_columns, simplify
from windlass_job.shards.table_rows import CsvRows, TableUnreadable, open_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    # path, label, the other columns
    Row = Tuple[bytes, Optional[str], Dict[str, Any]]

_LOOKED_AT = 50  # rows, where the first one says nothing that is known
_NO_UTF8 = "{!a} is no UTF-8: save the table as UTF-8, or iconv -f WINDOWS-1252 -t UTF-8"


class Table:
    """A table on disk; its head is read at once, its rows one by one as they are asked for."""

    def __init__(self, path: bytes, base: bytes, must_label: bool = False) -> None:
        """base: where its paths begin; a first row that nobody knows is judged by the files there."""
        self.path = path
        self._base = base
        self._is_json = path.lower().endswith((b".jsonl", b".ndjson"))
        self._rows = None if self._is_json else CsvRows(path)
        header = self._read_header()
        self._has_header, at = self._judge(header)
        if not self._has_header:  # then the first row is a row
            header = name_columns(len(header), at)
        if not 0 <= at < len(header):
            raise TableUnreadable(
                "{} has no column of paths: its columns are {}".format(disk.as_text(path), ", ".join(header))
            )
        self._refuse_twins(header)
        self.path_column = header[at]
        self.label_column = choose(header, LABELS)
        if must_label and self.label_column is None:
            raise TableUnreadable(
                "{} has no column of labels: its columns are {}".format(disk.as_text(path), ", ".join(header))
            )
        self._header = header
        self.columns = tuple(name for name in header if name not in (self.path_column, self.label_column))

    def _judge(self, first: "List[str]") -> "Tuple[bool, int]":
        """Whether the first row is a header, and which column has the paths."""
        known = choose(first, PATHS)
        if known is not None or self._rows is None:
            return True, first.index(known) if known is not None else -1
        rows = self._rows.take(_LOOKED_AT + 1)
        for at in range(len(first)):
            files = [row[at] for row in rows if at < len(row) and self._find_meant(row[at]) is not None]
            if files:
                return files[0] != first[at] and not _is_alike(first[at], files[0]), at
        return choose(first, LABELS) is not None, -1 if choose(first, LABELS) is not None else 0

    def _refuse_twins(self, header: "List[str]") -> None:
        """Of two columns of one name nobody knows which is meant."""
        seen = set()  # type: set[str]
        for name in header:
            simple = simplify(name)
            if simple and simple in seen:
                words = "{} has two columns {!r}: give one of them another name"
                raise TableUnreadable(words.format(disk.as_text(self.path), name))
            seen.add(simple)

    def iterate(self) -> "Iterator[Row]":
        for line, cells in self._iterate_cells():
            path = cells.pop(self.path_column, None)
            label = cells.pop(self.label_column, None) if self.label_column else None
            if path:
                name = self._read_path(str(path), line)
                yield name, None if label is None else self._read_label(str(label), line), cells

    def _read_path(self, text: str, line: int) -> bytes:
        name = self._encode(text, line)
        if self._is_json or _is_usual(text):
            return name
        found = self._find_meant(text)
        if found is None and not _is_utf8(text):
            raise self._make_error(line, _NO_UTF8.format(text))
        return name if found is None else found

    def _read_label(self, text: str, line: int) -> "Optional[str]":
        self._encode(text, line)
        if self._is_json:
            return text or None
        if not _is_utf8(text):
            raise self._make_error(line, _NO_UTF8.format(text))
        text = text.strip()
        if "\n" in text or "\r" in text:
            raise self._make_error(line, "the label {!a} has more than one line: is a quote missing?".format(text[:80]))
        return text or None

    def _find_meant(self, cell: str) -> "Optional[bytes]":
        """The file that is there: as it is written, without spaces around it, or with the slashes of Windows."""
        for text in (cell, cell.strip(), cell.strip().replace("\\", "/")):
            if _is_file(self._base, text):
                return disk.as_path(text)
        return None

    def _encode(self, text: str, line: int) -> bytes:
        try:
            return disk.as_path(text)
        except UnicodeEncodeError:
            raise self._make_error(line, "{!a} is no text: it has half of a character".format(text[:80]))

    def _make_error(self, line: int, words: str) -> TableUnreadable:
        return TableUnreadable("{}, line {}: {}".format(disk.as_text(self.path), line, words))

    def _iterate_cells(self) -> "Iterator[Tuple[int, Dict[str, Any]]]":
        if self._rows is not None:
            for line, row in itertools.islice(self._rows.iterate(), 1 if self._has_header else 0, None):
                yield line, dict(zip(self._header, row))
            return
        with open_text(self.path) as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield number, self._read_line(text, number)

    def _read_line(self, line: str, number: int) -> "Dict[str, Any]":
        try:
            found = json.loads(line)
            if isinstance(found, dict):
                return found
        except RecursionError:
            raise TableUnreadable("{}, line {} is nested too deep".format(disk.as_text(self.path), number))
        except ValueError:
            pass
        raise TableUnreadable("{}, line {} is no JSON object".format(disk.as_text(self.path), number))

    def _read_header(self) -> "List[str]":
        if self._rows is not None:
            return [name.strip() for name in (self._rows.take(1) or [[]])[0]]
        with open_text(self.path) as file:
            return list(self._read_line(file.readline(), 1))


def is_table(path: bytes) -> bool:
    return os.path.splitext(path)[1].lower() in (b".csv", b".tsv", b".jsonl", b".ndjson")


def _is_alike(cell: str, file: str) -> bool:
    """The name of a file that is missing, and no word over a column."""
    ending = os.path.splitext(file)[1]
    return bool(ending) and os.path.splitext(cell)[1] == ending


def _is_file(base: bytes, cell: str) -> bool:
    try:
        return bool(cell) and os.path.isfile(os.path.join(base, disk.as_path(cell)))
    except ValueError:  # half of a character, or a NUL
        return False


def _is_usual(text: str) -> bool:
    """Of most paths nothing needs to be asked."""
    return "\\" not in text and text == text.strip() and _is_utf8(text)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
