"""The fence of a run: an attempt that sees a greater claim than its own has been given up, and stops.

Behind an unplugged cable a job runs on while Slurm starts it again elsewhere: two trainings in one folder. The older
one looks every few seconds; the newer one waits that long before it starts, where the older was alive just now.
"""

import time
from typing import Callable, Mapping, Optional

from windlass_job import claims, wire
from windlass_job.bounded import repeat, within
from windlass_job.claims import Claim
from windlass_job.signals import Signals

LOOKS = 3  # so many looks of the older one's, and it has surely stopped, if it can look at all
QUICK_S = 5.0


class Fence:
    def __init__(self, folder: str, claim: Claim, start: str) -> None:
        """start: tells this start of the agent from all others: a claim that holds it is our own."""
        self._folder = folder
        self._claim = claim
        self._start = start
        self.lost_to: Optional[Claim] = None

    def look(self) -> bool:
        """True once a greater claim is there, and ever after. May raise OSError, and hang with the file system."""
        if self.lost_to is not None:
            return True
        greater = claims.find_greater(self._folder, self._claim)
        if greater is not None and claims.load_owner(self._folder, greater).get("start") == self._start:
            self._claim = greater  # our own, made when the file system answered at last
            return False
        self.lost_to = greater
        return greater is not None

    def watch(self, interval_s: float, wake: Callable[[], None]) -> None:
        """In a thread of its own, which may hang; `wake` is called when we are fenced off."""

        def look() -> bool:
            is_lost = self.look()
            if is_lost:
                wake()
            return is_lost

        repeat(interval_s, look)

    def is_lost_now(self, limit_s: float) -> bool:
        """Looked at once more: the command of a job that was given up may end just before the next look."""
        try:
            return bool(within(limit_s, self.look))
        except OSError:
            return False

    @property
    def by(self) -> str:
        """The greater claim, as its file is named."""
        return claims.format_claim(self.lost_to or self._claim)

    def is_lost_to_same_job(self, job: str) -> bool:
        """Then Slurm has one name for our steps and for those of the one that took over."""
        try:
            owner = within(QUICK_S, claims.load_owner, self._folder, self.lost_to or self._claim)
            return bool(owner.get("job") == job)
        except OSError:
            return True

    def tell_stopped(self) -> None:
        try:
            within(QUICK_S, claims.tell_stopped, self._folder, self._claim)
        except OSError:
            pass  # the other does not wait for ever

    def wait_for_older(self, older: Claim, interval_s: float, signals: Signals) -> None:
        """Until it says that it has stopped, but no longer than it needs to see our claim."""
        deadline = time.monotonic() + LOOKS * interval_s
        while time.monotonic() < deadline and not signals.is_cancelled:
            try:
                if within(interval_s, claims.has_stopped, self._folder, older):
                    return
            except OSError:
                pass  # the file system hangs: the deadline holds all the same
            signals.wait(min(0.5, interval_s))


def watch_as_task(env: Mapping[str, str], interval_s: float, wake: Callable[[], None]) -> Optional[Fence]:
    """For a task of srun: its node may be cut off alone, so that nobody can tell it that its job was given up."""
    numbers = [env.get(name, "") for name in (wire.ENV_NUMBER, wire.ENV_LINK, wire.ENV_ATTEMPT)]
    folder, start = env.get(wire.ENV_RUN_DIR), env.get(wire.ENV_START)
    if not folder or not start or not all(number.isdigit() for number in numbers):
        return None
    fence = Fence(folder, Claim(*map(int, numbers)), start)
    fence.watch(interval_s, wake)
    return fence
