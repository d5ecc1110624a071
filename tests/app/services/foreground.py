"""A command of Windlass's that stays in the foreground, as somebody at a terminal has it: its lines, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

_PATIENCE_S = 90.0


class Foreground:
    """All that it says, on stdout and stderr, line by line."""

    def __init__(self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "windlass", *words],
            cwd=cwd,
            env={**os.environ, "COLUMNS": "200", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, text: str, *, after: int = 0, patience_s: float = _PATIENCE_S) -> str:
        """The first line that holds this; `after` so many lines."""
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            found = [line for line in self.lines[after:] if text in line]
            if found:
                return found[0]
            if self.process.poll() is not None and not self._thread.is_alive():
                break
            time.sleep(0.05)
        raise AssertionError(f"{text!r} was not said, but:\n{self.said}")

    def wait_for_address(self) -> str:
        return self.wait_for("http://127.0.0.1:").strip()

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(_PATIENCE_S)
        self._thread.join(5)
        return code

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self.lines.append(line)


@contextmanager
def foreground(*words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Iterator[Foreground]:
    started = Foreground(*words, cwd=cwd, env=env)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.send_signal(signal.SIGINT)
            try:
                started.process.wait(20)
            except subprocess.TimeoutExpired:
                started.process.kill()


def get_page(address: str, *, timeout_s: float = 30.0) -> tuple[int, bytes]:
    try:
        with urlopen(address, timeout=timeout_s) as page:
            return page.status, page.read()
    except HTTPError as problem:
        with problem:
            return problem.code, problem.read()
