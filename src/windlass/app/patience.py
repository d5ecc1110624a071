"""Trouble at a site that passes by itself: told once, and until it is over asked again with growing pauses."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable, WindlassError

# The connection may come back, the laptop wake up, and Slurm's controller be there again.
PASSES = (ConnectionLost, HostUnreachable, ClusterUnavailable)
FIRST_S = 2.0
_LONGEST_S = 60.0
T = TypeVar("T")


@dataclass
class Patience:
    """Of one who goes on asking. tell: gets one line for each time of trouble, however long it lasts."""

    tell: Callable[[str], None]
    longest_s: float = _LONGEST_S
    _pause_s: float = 0.0

    def meet(self, problem: WindlassError) -> float:
        """How long to wait before the next try."""
        if not self._pause_s:
            self.tell(f"{problem.message}; trying again")
        self._pause_s = min(self.longest_s, 2 * self._pause_s or FIRST_S)
        return self._pause_s

    def forget(self) -> None:
        """It is over."""
        self._pause_s = 0.0

    def insist(self, act: Callable[[], T], *, sleep: Callable[[float], None] = time.sleep) -> T:
        """act: what may be done twice."""
        while True:
            try:
                answer = act()
            except PASSES as problem:
                sleep(self.meet(problem))
            else:
                self.forget()
                return answer
