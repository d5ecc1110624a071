"""Samples as rows of gauges/NODE.jsonl: short enough that a day of 64 GPUs stays under 20 MB.

A head names the columns of the rows below it, and what does not change; a row is a list of as many numbers:

    {"gauges":2,"job":"45_1","link":1,"cores":12,"gpus":[{"uuid":"GPU-a3..","memory_mb":143771}],"columns":["t",..]}
    [1700000015,9012,9640,0,1.02,1,0,0.1,null,null,null,87,30211,412]

A head comes first, whenever the columns change, and again every hundred rows: a file can be read from any place, and
a start after a crash just goes on behind what is there.
"""

import json
from typing import Any, Dict, List, Optional

from windlass_job import wire
from windlass_job.gauging.cores import FULL, Cores, count_full
from windlass_job.gauging.samples import Sample

HEAD_EVERY = 100
_MEANS = (".use", ".power_w")  # of several samples; of memory it is the most
_DIGITS = {"cpu_cores": 2, "mb_s": 1}  # by the end of a name; all others are whole numbers

Row = Dict[str, Optional[float]]


class Window:
    """The samples since the row before."""

    def __init__(self, cores: Cores) -> None:
        self._cores = cores
        self._base: Optional[Sample] = None
        self._samples: List[Sample] = []

    def add(self, sample: Sample) -> None:
        self._samples.append(sample)

    def __len__(self) -> int:
        return len(self._samples)

    def close(self) -> Row:
        """One row of all of them; what is counted has no rate in the first."""
        last = self._samples[-1]
        row: Row = {wire.GAUGE_TIME: last.time}
        row.update((name, self._sum_up(name)) for name in last.gauges)
        row.update((name, self._find_rate(name)) for name in last.counters)
        row["full_cores"] = self._count_full(last, row.get("cpu_cores"))
        self._base, self._samples = last, []
        return row

    def _count_full(self, last: Sample, busy: Optional[float]) -> Optional[int]:
        """No more than the job's own work can account for: others may use the same cores."""
        if self._base is None or self._cores.own is None or busy is None:
            return None
        return min(count_full(self._base.cores, last.cores, self._cores.own), int(busy / FULL + 0.1))

    def _sum_up(self, name: str) -> Optional[float]:
        values = [one.gauges.get(name) for one in self._samples]
        known = [value for value in values if value is not None]
        if not known:
            return None
        return sum(known) / len(known) if name.endswith(_MEANS) else max(known)

    def _find_rate(self, name: str) -> Optional[float]:
        if self._base is None:
            return None
        last = self._samples[-1]
        passed = last.moment - self._base.moment
        # What was not counted before began since then; a count falls where somebody mounts a file system anew.
        grown = last.counters[name] - self._base.counters.get(name, 0.0)
        return max(grown, 0.0) / passed if passed > 0 else None


class Sheet:
    """Heads and rows as lines, in the order in which they are to be written."""

    def __init__(self, about: Dict[str, Any], *, is_coarse: bool) -> None:
        """is_coarse: whole seconds are enough."""
        self.about = about
        self._is_coarse = is_coarse
        self._columns: List[str] = []
        self._rows = 0

    def format(self, row: Row) -> List[bytes]:
        columns = self._choose_columns(row)
        lines = []
        if columns != self._columns or self._rows % HEAD_EVERY == 0:
            self._columns, self._rows = columns, 0
            lines.append(_dump(dict({"gauges": wire.GAUGE_FORMAT}, **dict(self.about, columns=columns))))
        self._rows += 1
        lines.append(_dump([self._shorten(name, row.get(name)) for name in columns]))
        return lines

    def _choose_columns(self, row: Row) -> List[str]:
        """Those of the node, then of each GPU and rank; one that was there once stays."""
        parts = {name for name in row if name not in wire.GAUGE_COLUMNS} | set(self._columns[len(wire.GAUGE_COLUMNS) :])
        return list(wire.GAUGE_COLUMNS) + sorted(parts, key=_find_place)

    def _shorten(self, name: str, value: Optional[float]) -> Optional[float]:
        if value is None:
            return None
        if name == wire.GAUGE_TIME:
            return round(value) if self._is_coarse else round(value, 3)
        digits = next((digits for end, digits in _DIGITS.items() if name.endswith(end)), 0)
        short = round(value, digits)
        return int(short) if short == int(short) else short


def _find_place(name: str) -> Any:
    """gpu2 before gpu10, and the GPUs before the ranks."""
    part, _, what = name.partition(".")
    kind = part.rstrip("0123456789")
    return kind, int(part[len(kind) :] or 0), ("use", "memory_mb", "power_w", "cpu_cores").index(what)


def _dump(values: Any) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode("ascii") + b"\n"
