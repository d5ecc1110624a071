"""Rows about files: paths with labels and further columns, from CSV, TSV or JSON lines."""

import csv
import itertools
import json
import os

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    # path, label, the other columns
    Row = Tuple[bytes, Optional[str], Dict[str, Any]]

PATHS = (
    "file_name",
    "filename",
    "file",
    "path",
    "filepath",
    "file_path",
    "relative_path",
    "image",
    "image_path",
    "image_file",
    "image_name",
    "img",
    "img_path",
    "audio",
    "audio_path",
)
LABELS = ("label", "labels", "label_name", "class", "class_name", "class_id", "target", "category")
_LOOKED_AT = 50  # rows, where the first one says nothing that is known


class TableUnreadable(ValueError):
    """The table has no column of paths, or of labels where there must be one, or is no table."""


class Table:
    """A table on disk; its head is read at once, its rows one by one as they are asked for."""

    def __init__(self, path: bytes, base: bytes, must_label: bool = False) -> None:
        """base: where its paths begin; a first row that nobody knows is judged by the files there."""
        self.path = path
        self._is_json = path.lower().endswith((b".jsonl", b".ndjson"))
        self._delimiter = "," if self._is_json else _find_delimiter(path)
        header = self._read_header()
        self._has_header, at = self._judge(header, base)
        if not self._has_header:  # then the first row is a row
            header = _name_columns(len(header), at)
        if not 0 <= at < len(header):
            raise TableUnreadable(
                "{} has no column of paths: its columns are {}".format(disk.as_text(path), ", ".join(header))
            )
        self.path_column = header[at]
        self.label_column = _choose(header, LABELS)
        if must_label and self.label_column is None:
            raise TableUnreadable(
                "{} has no column of labels: its columns are {}".format(disk.as_text(path), ", ".join(header))
            )
        self._header = header
        self.columns = tuple(name for name in header if name not in (self.path_column, self.label_column))

    def _judge(self, first: "List[str]", base: bytes) -> "Tuple[bool, int]":
        """Whether the first row is a header, and which column has the paths."""
        known = _choose(first, PATHS)
        if known is not None or self._is_json:
            return True, first.index(known) if known is not None else -1
        rows = self._read_rows(_LOOKED_AT + 1)
        for at in range(len(first)):
            files = [row[at] for row in rows if at < len(row) and _is_file(base, row[at])]
            if files:
                return files[0] != first[at] and not _is_alike(first[at], files[0]), at
        return _choose(first, LABELS) is not None, -1 if _choose(first, LABELS) is not None else 0

    def iterate(self) -> "Iterator[Row]":
        for number, cells in enumerate(self._iterate_cells(), 1):
            path = cells.pop(self.path_column, None)
            label = cells.pop(self.label_column, None) if self.label_column else None
            if path:
                name = self._encode(str(path), number)
                if label == "":
                    label = None
                if label is not None:
                    label = str(label)
                    self._encode(label, number)
                yield name, label, cells

    def _encode(self, text: str, number: int) -> bytes:
        try:
            return disk.as_path(text)
        except UnicodeEncodeError:
            words = "{}, row {}: {!a} is no text: it has half of a character"
            raise TableUnreadable(words.format(disk.as_text(self.path), number, text[:80]))

    def _iterate_cells(self) -> "Iterator[Dict[str, Any]]":
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            if self._is_json:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield self._read_line(line, number)
                return
            rows = csv.reader(file, delimiter=self._delimiter)
            if self._has_header:
                next(rows, None)
            try:
                for row in rows:
                    yield dict(zip(self._header, row))
            except csv.Error as error:
                raise TableUnreadable("{}, line {}: {}".format(disk.as_text(self.path), rows.line_num, error))

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
        if not self._is_json:
            return (self._read_rows(1) or [[]])[0]
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            return list(self._read_line(file.readline(), 1))

    def _read_rows(self, count: int) -> "List[List[str]]":
        """The first so many, where there are so many."""
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            try:
                return list(itertools.islice(csv.reader(file, delimiter=self._delimiter), count))
            except csv.Error as error:
                raise TableUnreadable("{} is no table: {}".format(disk.as_text(self.path), error))


def is_table(path: bytes) -> bool:
    return os.path.splitext(path)[1].lower() in (b".csv", b".tsv", b".jsonl", b".ndjson")


def _find_delimiter(path: bytes) -> str:
    """Spreadsheets of some countries write `;`: whatever cuts the first row, the comma first."""
    if path.lower().endswith(b".tsv"):
        return "\t"
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        first = file.readline(1 << 16)
    for delimiter in (",", ";", "\t"):
        if len(next(csv.reader([first], delimiter=delimiter), [])) > 1:
            return delimiter
    return ","


def _name_columns(count: int, path_at: int) -> "List[str]":
    """Of a table without a header: the first one beside the paths has the labels."""
    names = ["column_{}".format(number) for number in range(1, count + 1)]
    if 0 <= path_at < count:
        names[path_at] = "path"
    if count > 1:
        names[1 if path_at == 0 else 0] = "label"
    return names


def _is_alike(cell: str, file: str) -> bool:
    """The name of a file that is missing, and no word over a column."""
    ending = os.path.splitext(file)[1]
    return bool(ending) and os.path.splitext(cell)[1] == ending


def _is_file(base: bytes, cell: str) -> bool:
    try:
        return bool(cell) and os.path.isfile(os.path.join(base, disk.as_path(cell)))
    except ValueError:  # half of a character, or a NUL
        return False


def _choose(header: "List[str]", wanted: "Tuple[str, ...]") -> "Optional[str]":
    for name in wanted:
        for column in header:
            if column.strip().lower().replace(" ", "_").replace("-", "_") == name:
                return column
    return None
