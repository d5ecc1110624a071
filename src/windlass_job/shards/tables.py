"""Rows about files: paths with labels and further columns, from CSV, TSV or JSON lines."""

import csv
import json
import os

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    # path, label, the other columns
    Row = Tuple[bytes, Optional[str], Dict[str, Any]]

PATHS = ("file_name", "filename", "file", "path", "filepath", "file_path", "image", "image_path", "img", "audio")
LABELS = ("label", "labels", "class", "class_name", "target", "category")


class TableUnreadable(ValueError):
    """The table has no column of paths, or of labels where there must be one, or is no table."""


class Table:
    """A table on disk; its head is read at once, its rows one by one as they are asked for."""

    def __init__(
        self,
        path: bytes,
        path_column: "Optional[str]" = None,
        label_column: "Optional[str]" = None,
        must_label: bool = False,
    ) -> None:
        self.path = path
        self._is_json = path.lower().endswith((b".jsonl", b".ndjson"))
        header = self._read_header()
        self._has_header = self._is_json or _choose(header, PATHS) is not None or path_column in header
        if not self._has_header:  # then the first row is a row
            header = ["path", "label"][: len(header)] + ["column_{}".format(n) for n in range(3, len(header) + 1)]
        chosen = path_column or _choose(header, PATHS)
        if chosen is None or chosen not in header:
            raise TableUnreadable(
                "{} has no column of paths: its columns are {}".format(disk.as_text(path), ", ".join(header))
            )
        self.path_column = chosen
        self.label_column = label_column or _choose(header, LABELS)
        if must_label and self.label_column is None:
            raise TableUnreadable(
                "{} has no column of labels: its columns are {}".format(disk.as_text(path), ", ".join(header))
            )
        self._header = header
        self.columns = tuple(name for name in header if name not in (self.path_column, self.label_column))

    def iterate(self) -> "Iterator[Row]":
        for number, cells in enumerate(self._iterate_cells(), 1):
            path = cells.pop(self.path_column, None)
            label = cells.pop(self.label_column, None) if self.label_column else None
            if path:
                name = self._encode(str(path), number)
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
            rows = csv.reader(file, delimiter=_choose_delimiter(self.path))
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
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            if self._is_json:
                return list(self._read_line(file.readline(), 1))
            try:
                return next(csv.reader(file, delimiter=_choose_delimiter(self.path)), [])
            except csv.Error as error:
                raise TableUnreadable("{} is no table: {}".format(disk.as_text(self.path), error))


def is_table(path: bytes) -> bool:
    return os.path.splitext(path)[1].lower() in (b".csv", b".tsv", b".jsonl", b".ndjson")


def _choose_delimiter(path: bytes) -> str:
    return "\t" if path.lower().endswith(b".tsv") else ","


def _choose(header: "List[str]", wanted: "Tuple[str, ...]") -> "Optional[str]":
    for name in wanted:
        for column in header:
            if column.strip().lower() == name:
                return column
    return None
