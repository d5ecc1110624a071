"""What one worker has ended: lines for its records, numbers for the ledger, and how long tasks take here."""

import time
from typing import List, Optional, Tuple

from windlass_job.farming import records
from windlass_job.farming.clerk import Task
from windlass_job.farming.journal import Journal
from windlass_job.farming.ledger import Told

NOTHING_USED = (0.0, 0.0)  # seconds of CPU, megabytes of memory


class Tally:
    def __init__(self, journal: Journal, retries: int, slots: int) -> None:
        self._journal, self._retries, self._slots = journal, retries, slots
        self._lines: "List[str]" = []
        self.done = self.failed = self.stopped = 0
        self._written = (0, 0, 0)  # of them
        self._timed, self._spent_s, self._usual_s = 0, 0.0, 0.0  # tasks, seconds in all, and of the last few

    @property
    def told(self) -> Told:
        """What is in the records."""
        return Told(*self._written)

    def start(self, task: Task, now: float) -> None:
        self._lines.append(records.format_start(task.number, task.attempt, now))

    def add(self, lines: str) -> None:
        """Of calls, which are counted one by one."""
        self._lines.append(lines)

    def end(self, task: Task, code: int, start: float, used: "Tuple[float, float]", last_line: str = "") -> bool:
        """False: it is tried again."""
        number, attempt = task.number, task.attempt
        seconds = max(0.0, time.time() - start)
        self._lines.append(records.format_line(number, attempt, code, start, seconds, used[0], used[1], last_line))
        return self.count(code, attempt)

    def count(self, code: int, attempt: int) -> bool:
        """One that ended; the same."""
        if not records.is_last(code, attempt, self._retries):
            return False
        self.done += code == 0
        self.failed += code != 0
        self.stopped += code == records.STOPPED
        return True

    @property
    def has_lines(self) -> bool:
        return bool(self._lines)

    def write(self) -> None:
        if self._lines:
            text, self._lines = "".join(self._lines), []
            self._journal.write(text)
            self._written = (self.done, self.failed, self.stopped)

    # ---- times ----

    def count_time(self, seconds: float) -> None:
        self._spent_s, self._timed = self._spent_s + seconds, self._timed + 1
        self._usual_s += (seconds - self._usual_s) / min(self._timed, 4 * self._slots)

    @property
    def rate(self) -> "Optional[float]":
        """Tasks a second, by the last few of each slot: others are to get what would wait here."""
        return None if not self._timed else self._slots / max(self._usual_s, 1e-6)

    @property
    def average_s(self) -> float:
        """Of all so far: one long task among short ones must not change it much."""
        return self._spent_s / max(self._timed, 1)
