"""Rows about files, from lists and tables: sorted by the files' names, each once, with the labels that are left."""

import json
import os

from windlass_job import disk
from windlass_job.shards import told as words
from windlass_job.shards.naming import name_below
from windlass_job.shards.sorting import LARGEST_RUN, Sorter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, Optional, Tuple

    from windlass_job.shards.tables import Table
    from windlass_job.shards.told import Told

MOST_LABELS = 100000  # more than that are numbers or sentences: they stay a column


class Rows:
    """`add` all, `settle` once; then `labels` is true, and they can be iterated once."""

    def __init__(
        self,
        scratch: "Optional[bytes]",
        outside: bool = False,
        refused: str = words.REFUSED_NAME,
        largest_run: int = LARGEST_RUN,
    ) -> None:
        """outside: also files that do not lie below the base of their paths. refused: as what others are told."""
        self._scratch = scratch
        self._outside = outside
        self._refused = refused
        self._largest_run = largest_run
        self._sorter = Sorter(scratch, largest_run)
        self.labels = set()  # type: set[str]
        self.columns = ()  # type: Tuple[str, ...]

    def add_table(self, table: "Table", folder: bytes, base: bytes, told: "Told") -> None:
        """folder: where below `base` its paths begin."""
        self.columns += tuple(name for name in table.columns if name not in self.columns)
        for path, label, columns in table.iterate():
            self.add(os.path.join(folder, path), base, label, columns, told)

    def add(self, path: bytes, base: bytes, label: "Optional[str]", columns: "Dict[str, Any]", told: "Told") -> None:
        name = name_below(path, base, self._outside) if b"\0" not in path else None
        if name is None:
            told.add(self._refused, path)
            return
        path = name if os.path.normpath(path) == name else path
        self._sorter.add(name, json.dumps([disk.as_text(path), label, columns]).encode("ascii"))

    def settle(self, told: "Told", is_there: "Callable[[bytes], bool]") -> None:
        """Of several rows about one file the last stays, and none without a file: their labels are no classes."""
        kept = Sorter(self._scratch, self._largest_run)
        before = None  # type: Optional[Tuple[bytes, bytes]]
        for record in self._sorter.iterate():
            if before is not None:
                if before[0] == record[0]:
                    told.add(words.TWICE, record[0])
                else:
                    self._keep(before, kept, told, is_there)
            before = record
        if before is not None:
            self._keep(before, kept, told, is_there)
        self._sorter = kept
        if len(self.labels) > MOST_LABELS:
            self.labels = set()

    def _keep(
        self, record: "Tuple[bytes, bytes]", kept: Sorter, told: "Told", is_there: "Callable[[bytes], bool]"
    ) -> None:
        name, value = record
        path, label, _ = json.loads(value.decode("ascii"))
        if not is_there(disk.as_path(path)):
            told.add(words.NO_FILE, name)
            return
        if label is not None and len(self.labels) <= MOST_LABELS:
            self.labels.add(label)
        kept.add(name, value)

    def iterate(self) -> "Iterator[Tuple[bytes, bytes, Optional[str], Dict[str, Any]]]":
        for name, value in self._sorter.iterate():
            path, label, columns = json.loads(value.decode("ascii"))
            yield name, disk.as_path(path), label, columns
