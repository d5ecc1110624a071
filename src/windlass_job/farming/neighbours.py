"""Who is dead of those that stand behind a worker in their order.

The first of them is looked at, so that a look costs the same however many there are. But a rack that loses its power
takes many with it who stand side by side: while all that are watched are quiet, ever more are, and their clocks run at
the same time. Whoever beats ends the row: those behind him are his to watch.
"""

from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from windlass_job.farming.roll import DiskRoll, Timing

_WIDER = 8  # times

# left: whether somebody is not there any more, so that the list of names is old.
Look = NamedTuple("Look", [("dead", List[str]), ("left", bool)])


class Neighbours:
    def __init__(self, roll: DiskRoll, timing: Timing, clock: "Callable[[], float]") -> None:
        self.is_first_well = True  # as far as is known
        self._roll, self._timing, self._clock = roll, timing, clock
        self._quiet: "Dict[str, Tuple[int, float]]" = {}  # of each that is watched: its last beat, and since when
        self._width = 1  # how many are watched

    def look(self, names: "List[str]") -> Look:
        """names: of the others, in their order from this worker on."""
        now, seen = self._clock(), {}  # type: float, Dict[str, Tuple[int, float]]
        has_left, place = False, 0
        while place < min(self._width, len(names)):
            name, place = names[place], place + 1
            beat = self._roll.read_beat(name)
            if beat is None:
                has_left = True
                continue
            before, since = self._quiet.get(name, (None, now))
            seen[name] = (beat, since if before == beat else now)
            if place == 1:
                self._judge_first(before, seen[name], now)
            if before is not None and before != beat:
                self._width = place
            elif place == self._width and self._are_quiet(seen, now):
                self._width *= _WIDER
        self._quiet = seen
        if not names:
            self.is_first_well = True
        return Look([name for name, (_, since) in seen.items() if now - since >= self._timing.dead_after_s], has_left)

    def _judge_first(self, before: "Optional[int]", seen: "Tuple[int, float]", now: float) -> None:
        beat, since = seen
        if before != beat:
            self.is_first_well = before is not None
        elif now - since >= 2 * self._timing.beat_s:
            self.is_first_well = False

    def _are_quiet(self, seen: "Dict[str, Tuple[int, float]]", now: float) -> bool:
        """For longer than by chance."""
        since = [since for _, since in seen.values()]
        beat_s = self._timing.beat_s
        return bool(since) and now - max(since) >= beat_s and now - min(since) >= 2 * beat_s
