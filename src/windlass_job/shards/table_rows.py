"""The rows of a CSV, each with its line: in the encoding that it says, after notes before its header, quotes closed."""

import csv
import itertools
import re

from windlass_job import disk
from windlass_job.shards.table_columns import LABELS, PATHS, choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Iterator, List, Tuple

_DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR = "sep="  # as Excel writes and reads it
_FILE = re.compile(r"#\S*\.[A-Za-z]\w*\s*$")
_QUOTE = "a quote is opened there and not closed, or stands in the middle of a cell"


class TableUnreadable(ValueError):
    """The table has no column of paths, or of labels where there must be one, or is no table."""


def open_text(path: bytes) -> "IO[str]":
    """Bytes that are no UTF-8 stay as they are: names of files may be such."""
    with open(path, "rb") as file:
        start = file.read(1 << 12)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):  # "Unicode text" of spreadsheets
        return open(path, encoding="utf-16", errors="replace", newline="")
    if b"\0" in start:
        words = "{} has bytes that no text has: if it is UTF-16, save it as UTF-8"
        raise TableUnreadable(words.format(disk.as_text(path)))
    return open(path, encoding="utf-8-sig", errors="surrogateescape", newline="")


class CsvRows:
    """Read anew each time that they are iterated."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._skipped, self._delimiter = self._look()

    def iterate(self) -> "Iterator[Tuple[int, List[str]]]":
        """The line where each begins; those without a cell are none."""
        with open_text(self._path) as file:
            rows = csv.reader(itertools.islice(file, self._skipped, None), delimiter=self._delimiter, strict=True)
            while True:
                line = rows.line_num + 1
                try:
                    row = next(rows)
                except StopIteration:
                    return
                except csv.Error as error:
                    raise self.make_error(self._skipped + line, self._explain(str(error)))
                if row:
                    yield self._skipped + line, row

    def take(self, count: int) -> "List[List[str]]":
        """The first so many, where there are so many."""
        return [row for _, row in itertools.islice(self.iterate(), count)]

    def make_error(self, line: int, words: str) -> TableUnreadable:
        return TableUnreadable("{}, line {}: {}".format(disk.as_text(self._path), line, words))

    def _explain(self, words: str) -> str:
        is_quote = "unexpected end" in words or "expected after" in words or "larger than field limit" in words
        return _QUOTE if is_quote else words

    def _look(self) -> "Tuple[int, str]":
        """How many lines come before the rows, and what cuts these."""
        with open_text(self._path) as file:
            for number in itertools.count():
                line = file.readline(1 << 16)
                if number == 0 and line.lower().startswith(_SEPARATOR) and len(line.rstrip("\r\n")) == 5:
                    return 1, line[4]
                if not line or not self._is_note(line):
                    return number, self._find_delimiter(line)
        return 0, ","

    def _is_note(self, line: str) -> bool:
        """`# made by ...`; a header may begin so too, and the name of a file."""
        if not line.strip():
            return True
        if not line.startswith("#"):
            return False
        cells = next(csv.reader([line], delimiter=self._find_delimiter(line)), [])
        is_header = choose(cells, PATHS) is not None or choose(cells, LABELS) is not None
        return not (len(cells) > 1 and (is_header or _FILE.match(cells[0])))

    def _find_delimiter(self, line: str) -> str:
        """Spreadsheets of some countries write `;`: whatever cuts the first row, the comma first."""
        if self._path.lower().endswith(b".tsv"):
            return "\t"
        for delimiter in _DELIMITERS:
            if len(next(csv.reader([line], delimiter=delimiter), [])) > 1:
                return delimiter
        return ","
