"""Whether a task ended because its job does: then it is given back, and that was no try."""

import signal
import time

from windlass_job.signals import Signals

_HEAR_S = 0.5  # between the end of a task by a signal and our own


def is_cut(signals: Signals, code: int, was_asked: bool) -> bool:
    """Slurm ends a job by a signal to all its processes: tasks may be gone before this one has heard of it."""
    if was_asked:
        return code != 0
    deadline = time.monotonic() + _HEAR_S
    while code == 128 + signal.SIGTERM and time.monotonic() < deadline:
        if signals.is_noticed or signals.is_cancelled:
            return True
        time.sleep(0.01)
    return False
