"""A command in its slot, while it runs."""

import time
from typing import Optional

from windlass_job.farming.clerk import Task
from windlass_job.farming.outputs import Scratch
from windlass_job.farming.slots import Slot


class Running:
    __slots__ = ("began", "kill_at", "pid", "scratch", "slot", "start", "task", "verdict")

    def __init__(self, task: Task, slot: Slot, scratch: Scratch, pid: int, start: float) -> None:
        self.task, self.slot, self.scratch, self.pid, self.start = task, slot, scratch, pid, start
        self.began = time.monotonic()
        self.kill_at: "Optional[float]" = None
        self.verdict: "Optional[int]" = None  # why it is being stopped
