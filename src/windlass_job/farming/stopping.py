"""A task is asked to stop, and killed when it does not."""

import signal
from typing import Optional, Union

from windlass_job.farming.commands import Running
from windlass_job.farming.warm import Warm

_GRACE_S = 10.0  # between asking and killing


def ask_to_stop(running: "Union[Running, Warm]", now: float, verdict: "Optional[int]", number: int) -> None:
    """Called again and again until it has ended. number: of the signal."""
    if running.pid is None:
        return
    if running.kill_at is None:
        running.kill_at, running.verdict = now + _GRACE_S, verdict
        running.kill(number)
    elif now >= running.kill_at:
        running.kill(signal.SIGKILL)
