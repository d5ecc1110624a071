"""Whether a task ended because its job does: then it is given back, and that was no try.

But one that had almost all of a pilot's time needs more than that: it is counted, and not run for ever.
"""

import signal
import time
from typing import Optional, Set, Tuple

from windlass_job.farming import records
from windlass_job.farming.clerk import Task
from windlass_job.signals import Signals

MOST_LOSSES = 5  # a task under which so many workers died is not tried again
_MOST_CUTS = 3
_ALMOST_ALL = 0.8
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


def count_cut(task: Task, ran_s: float, whole_s: float) -> Task:
    """whole_s: how long its pilot may run; nothing where it has no end."""
    return task._replace(cuts=task.cuts + 1) if ran_s >= _ALMOST_ALL * whole_s > 0 else task


def find_verdict(task: Task, stopped: "Set[int]") -> "Optional[Tuple[int, str]]":
    """Why it is not run: a code of the records, and words."""
    if task.number in stopped:
        return records.STOPPED, ""
    if task.losses >= MOST_LOSSES:
        return records.LOST, ""
    if task.cuts >= _MOST_CUTS:
        said = "the end of its pilot cut it short {} times: it needs more time than that has (--time)"
        return records.CUT, said.format(task.cuts)
    return None
