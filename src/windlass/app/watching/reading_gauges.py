"""Gauges of a run, whole, from the mirror. Kept until a file has grown: a day of 64 GPUs takes a while to read."""

import time
from dataclasses import dataclass

from windlass.app.watching.watch import Watch
from windlass.core.gauges.lines import read_files
from windlass.core.gauges.series import RunGauges
from windlass.edges.mirror import Index
from windlass_job import wire

_MOST_BYTES = 64 << 20  # of one node
_MOST_KEPT = 8  # runs
_REST = 20  # times as long as reading took: a run that lives costs at most a twentieth of a core


@dataclass(frozen=True, kw_only=True)
class _Kept:
    stamp: object  # how far its files had come
    until: float  # it is not read anew before
    gauges: RunGauges


class GaugeReader:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._kept: dict[str, _Kept] = {}

    def load(self, run_id: str, index: Index) -> RunGauges:
        """As they are, or as they were a moment ago."""
        paths = sorted(path for path in index.files if path.startswith(f"{wire.GAUGES}/"))
        stamp = tuple((path, index.files[path].end, index.files[path].mark) for path in paths)
        begin = time.monotonic()
        kept = self._kept.get(run_id)
        if kept is not None and (kept.stamp == stamp or begin < kept.until):
            return kept.gauges
        gauges = read_files({path.removeprefix(f"{wire.GAUGES}/"): self._read(run_id, path) for path in paths})
        end = time.monotonic()
        while len(self._kept) >= _MOST_KEPT and run_id not in self._kept:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[run_id] = _Kept(stamp=stamp, until=end + _REST * (end - begin), gauges=gauges)
        return gauges

    def _read(self, run_id: str, path: str) -> str:
        return self._watch.mirror.read(run_id, path, most=_MOST_BYTES).decode(errors="replace")
