"""When a training should save and leave: the time that is left is short, or it was told to stop."""

import os
import signal
import threading
import time

from windlass_job import wire
from windlass_job.saving import world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Optional

    Least = Callable[[int], int]

MARGIN_S = 1.0
SAVES = 2  # what is left must do for this many
AGREE_S = 1.0  # ranks agree about this often
MOST_CALLS = 100  # and at least once in so many calls: what the training calls a step may become slower at any time
NEVER = float("inf")


class Stopping:
    """Asked after each step; its plain answer costs a look at the clock."""

    def __init__(
        self, env: "Mapping[str, str]", save_s: float = 0.0, clock: "Callable[[], float]" = time.monotonic
    ) -> None:
        self._clock = clock
        left = read_time_left(env)
        self._deadline = NEVER if left is None else clock() + left
        self._stop_at = NEVER
        self._last: Optional[float] = None  # the time from here to the first question is the set-up's, and no step
        self.is_told = False
        self._answer = False
        self._calls_left = 1
        self._calls = 1
        self._agreed_at: Optional[float] = None
        self.measure(save_s)

    def measure(self, save_s: float) -> None:
        """A save took so long."""
        self._stop_at = self._deadline - SAVES * save_s - MARGIN_S

    def ask(self) -> bool:
        now = self._clock()
        # The next chance comes one step later, and a step may be a whole epoch.
        step = 0.0 if self._last is None else now - self._last
        if self.is_told or now + step > self._stop_at:
            self._answer = True
        self._last = now
        return self._answer

    def ask_all(self, least: "Optional[Least]" = None) -> bool:
        """The same answer on every rank at the same call, as long as all call equally often.

        Ranks agree by one number, the least of all: 0 from whoever wants to stop, else after how many calls to agree
        again. In between it costs next to nothing.
        """
        self._calls_left -= 1
        if self._calls_left > 0:
            return self._answer
        now = self._clock()
        passed = 0.0 if self._agreed_at is None else now - self._agreed_at
        wants = self._answer or self.is_told or now + passed > self._stop_at
        pace = passed / self._calls
        most = 1 if self._agreed_at is None else min(MOST_CALLS, 2 * self._calls)
        calls = max(1, min(most, int(AGREE_S / max(pace, 1e-6))))
        self._calls = self._calls_left = self._reduce(0 if wants else calls, least)
        self._agreed_at = now
        if self._calls <= 0:
            self._answer = True
            self._calls = 1
        return self._answer

    def _reduce(self, number: int, least: "Optional[Least]") -> int:
        if self._answer:
            return 0  # all have said so already, at the same call
        found = least or world.find_least()
        if found is None:
            if world.find_place(os.environ)[1] == 1:
                return number
            raise RuntimeError(
                "run.should_stop(all_ranks=True) finds neither torch.distributed (initialized) nor mpi4py (imported): "
                "give it least=FUNCTION, which gives every rank the least of all ranks' numbers"
            )
        return int(found(number))

    def listen(self, env: "Mapping[str, str]") -> None:
        """The signal to stop sets a word from now on instead of killing; a handler of the training's own runs too."""
        from windlass_job.signals import read_signal

        number = read_signal(env.get(wire.ENV_STOP_SIGNAL) or "TERM")
        earlier = signal.getsignal(number)
        if threading.current_thread() is not threading.main_thread() or earlier is None:
            return  # None: a handler that is not Python's, and would be lost
        mine = os.getpid()

        def remember(number: int, frame: "Any") -> None:
            if os.getpid() != mine:  # a child that was forked off, such as a data loader: not ours to keep alive
                signal.signal(number, earlier)
                os.kill(os.getpid(), number)
                return
            self.is_told = True
            if callable(earlier) and earlier is not signal.default_int_handler:
                earlier(number, frame)

        signal.signal(number, remember)


def read_time_left(env: "Mapping[str, str]") -> "Optional[float]":
    """Seconds until the job ends, by Slurm's word or else the agent's; None where nobody knows."""
    for name in ("SLURM_JOB_END_TIME", wire.ENV_DEADLINE):
        end = env.get(name, "")
        if end.isdigit():
            return int(end) - time.time()
    return None
