"""Whether anybody still uses a service: what is active keeps it, silence first gives a warning, and then ends it."""

import os
from typing import NamedTuple, Optional

from windlass_job import processes

WARN_S = 300.0  # at most so long before the end
BUSY_SHARE = 0.05  # of one core: less is what an idle kernel and its server use

# is_busy: something is being computed. last_active: seconds since 1970, None when nobody knows. cpu_s: all so far.
Look = NamedTuple("Look", [("now", float), ("is_busy", bool), ("last_active", Optional[float]), ("cpu_s", float)])


class Idleness:
    """after_s: how long nobody may use it; None: for ever."""

    def __init__(self, after_s: Optional[float], began: float) -> None:
        self._after_s = after_s
        self._active_at = began
        self._last: Optional[Look] = None

    def take(self, look: Look) -> None:
        if look.is_busy or self._computes(look):
            self._active_at = look.now
        elif look.last_active is not None:
            # A clock that is ahead must not keep it for ever.
            self._active_at = max(self._active_at, min(look.last_active, look.now))
        self._last = look

    def _computes(self, look: Look) -> bool:
        if self._last is None or look.now <= self._last.now:
            return False
        return (look.cpu_s - self._last.cpu_s) / (look.now - self._last.now) > BUSY_SHARE

    def count_idle_s(self, now: float) -> float:
        return max(0.0, now - self._active_at)

    def count_left_s(self, now: float) -> Optional[float]:
        """Until it is ended; None: never."""
        return None if self._after_s is None else self._after_s - self.count_idle_s(now)

    def is_warned(self, now: float) -> bool:
        left = self.count_left_s(now)
        return left is not None and self._after_s is not None and left <= min(WARN_S, self._after_s / 3)

    def is_over(self, now: float) -> bool:
        left = self.count_left_s(now)
        return left is not None and left <= 0


def choose_pause_s(after_s: Optional[float]) -> float:
    """Between two looks: often enough for the warning to come in time."""
    return 15.0 if after_s is None else max(0.2, min(15.0, after_s / 20))


def count_cpu_s(root: int) -> float:
    """Of all that a process started, without the process itself."""
    tree = processes.find_tree(root, processes.load_processes())
    return sum(one.cpu_ticks for one in tree if one.pid != root) / float(os.sysconf("SC_CLK_TCK"))


def format_minutes(seconds: float) -> str:
    """Such as 90 s, 5 min, 1 h 30 min."""
    if seconds < 120:
        return "{:.0f} s".format(max(0.0, seconds))
    minutes = round(seconds / 60)
    return "{} min".format(minutes) if minutes < 120 else "{} h {} min".format(minutes // 60, minutes % 60)
