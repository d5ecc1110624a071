"""Somebody at a terminal: types, reads what is shown, presses Ctrl-C, makes the window larger."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PATIENCE_S = 60.0


class Terminal:
    def __init__(self, pid: int, handle: int) -> None:
        self._pid, self._handle = pid, handle
        self._code: int | None = None
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    def press_ctrl_c(self) -> None:
        self.type("\x03")

    def press_ctrl_c_until(self, pattern: str) -> None:
        """As people do: again, where nothing has come of it. A shell that just starts a command hears it for itself."""
        for _ in range(5):
            self.press_ctrl_c()
            with suppress(AssertionError):
                self.wait_for(pattern, patience_s=_PATIENCE_S / 5)
                return
        raise AssertionError(f"Ctrl-C was not heard:\n{self.shown}")

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait_for(self, pattern: str, *, patience_s: float = _PATIENCE_S) -> str:
        """Forgets what was shown up to there."""
        deadline = time.monotonic() + patience_s
        while not (found := re.search(pattern, self.shown)):
            if time.monotonic() > deadline or not self._read():
                raise AssertionError(f"{pattern!r} was not shown, but:\n{self.shown}")
        self.shown = self.shown[found.end() :]
        return found[0]

    def wait(self) -> int:
        """The exit code, when all was read."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._read():
            if time.monotonic() > deadline:
                raise AssertionError(f"it does not end, but shows:\n{self.shown}")
        _, status = os.waitpid(self._pid, 0)
        self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def close(self) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGHUP)
            os.close(self._handle)
            os.waitpid(self._pid, 0)
            return
        os.close(self._handle)

    def _read(self) -> bool:
        """False: the other end is closed."""
        if not select.select([self._handle], [], [], 0.2)[0]:
            return True
        try:
            piece = os.read(self._handle, 65536)
        except OSError:  # Linux says so at the end
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)


@contextmanager
def terminal(*words: str, cwd: Path) -> Iterator[Terminal]:
    """`windlass WORDS` at a terminal of 30 rows and 100 columns."""
    argv = [sys.executable, "-m", "windlass", *words]
    pid, handle = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.environ.update(TERM="dumb", PS1="$ ")
        os.execv(argv[0], argv)
    opened = Terminal(pid, handle)
    opened.resize(30, 100)
    try:
        yield opened
    finally:
        opened.close()
