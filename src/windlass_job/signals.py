"""Signals to this process, remembered until the main loop looks."""

import os
import select
import signal
import time
from typing import Any, Iterable, List


class Signals:
    """Takes over these signals for the whole process, from the moment it is made."""

    def __init__(self, notice: int, cancel: Iterable[int] = ()) -> None:
        self._notice = notice
        self._came: List[int] = []
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        signal.set_wakeup_fd(self._write_end)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # only wakes `wait`
        for number in set(cancel) | {notice}:
            signal.signal(number, self._remember)

    def _remember(self, number: int, frame: Any) -> None:
        self._came.append(number)

    def list_came(self) -> List[int]:
        """All so far, in their order."""
        return list(self._came)

    @property
    def is_noticed(self) -> bool:
        return self._notice in self._came

    @property
    def is_noticed_first(self) -> bool:
        return bool(self._came) and self._came[0] == self._notice

    @property
    def is_cancelled(self) -> bool:
        return any(number != self._notice for number in self._came)

    def wake(self) -> None:
        """For another thread: `wait` comes back at once."""
        try:
            os.write(self._write_end, b"\0")
        except BlockingIOError:
            pass  # the pipe is full: it wakes up anyhow

    def wait(self, timeout_s: float) -> None:
        """Until a signal comes, a child ends, somebody calls `wake`, or the time is over."""
        select.select([self._read_end], [], [], max(0.0, timeout_s))
        try:
            os.read(self._read_end, 4096)
        except BlockingIOError:
            pass

    def wait_for_any(self, timeout_s: float) -> None:
        """Until one of our signals has come; that of a child is none."""
        deadline = time.monotonic() + timeout_s
        while not self._came and time.monotonic() < deadline:
            self.wait(deadline - time.monotonic())

    def wait_for_cancel(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self.is_cancelled and time.monotonic() < deadline:
            self.wait(deadline - time.monotonic())


def read_signal(name: str) -> int:
    """`TERM`, `SIGTERM` or `15`."""
    if name.isdigit():
        return int(name)
    word = name.upper()
    return int(getattr(signal, word if word.startswith("SIG") else "SIG" + word))
