"""The far end of a TensorBoard: starts one on its own machine, calls it for the laptop, and ends it with the line.

It comes over its input as `far` does. It and its TensorBoard end when the laptop leaves, dies or is silent for long.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from types import FrameType
from typing import Any, Callable, Dict, Optional

from windlass_job.relaying import frames
from windlass_job.relaying.exchange import Exchange
from windlass_job.relaying.far import greet, read_order

_SAID = re.compile(rb"TensorBoard \S+ at http://127\.0\.0\.1:(\d+)/")
_MOST_WORDS = 4000
_LEAVE_S = 3.0
_CALL_S = 10.0
_LEAST_PRIORITY = 19
_PR_SET_PDEATHSIG = 1


def main(nonce: str) -> None:
    source, sink = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    order = read_order(source)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)
    board = Board(order)
    try:
        board.start()
        greet(sink, nonce)
        Exchange(source, sink, dial=board.dial, is_over=board.find_end).run()
    except frames.Garbled:
        pass  # the laptop has gone in the middle of a frame
    finally:
        board.close()


def leave(number: int, frame: Optional[FrameType]) -> None:
    sys.exit(128 + number)


def load_prctl() -> Optional[Callable[[int, int], int]]:
    """None where the system, or a Python that was built without ctypes, has not got it."""
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None


class Board:
    """order: argv (what starts TensorBoard, without its options), runs (name and folder of each), options, nice."""

    def __init__(self, order: Dict[str, Any]) -> None:
        self._order = order
        self._child: Optional["subprocess.Popen[bytes]"] = None
        self._port: Optional[int] = None
        self._die_together = load_prctl()
        # Only for its owner: the options hold the word that lets its user in, and what TensorBoard tells in the folder
        # for temporary files, for other programs, holds it too.
        self._folder = tempfile.mkdtemp(prefix="windlass-board-")
        self._words = os.path.join(self._folder, "words")

    def start(self) -> None:
        logs = os.path.join(self._folder, "runs")
        temporary = os.path.join(self._folder, "tmp")
        for folder in (logs, temporary):
            os.mkdir(folder, 0o700)
        for name, folder in self._order["runs"].items():
            os.symlink(folder, os.path.join(logs, os.path.basename(name)))
        options = ["--logdir=" + logs, "--host=127.0.0.1", "--port=0"] + list(self._order["options"])
        flags = os.path.join(self._folder, "flags")
        # Not on the command line, which every user of the machine may read.
        with open(os.open(flags, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("".join(option + "\n" for option in options))
        argv = list(self._order["argv"]) + ["--flagfile=" + flags]
        with open(self._words, "wb") as words:
            self._child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                env=dict(os.environ, TMPDIR=temporary),
                start_new_session=True,
                preexec_fn=self._prepare,
            )

    def dial(self) -> socket.socket:
        port = self._find_port()
        if port is None:
            raise OSError("TensorBoard is starting")
        return socket.create_connection(("127.0.0.1", port), _CALL_S)

    def find_end(self) -> Optional[str]:
        """Where it has ended by itself: a line with its exit code, then its last words."""
        code = self._child.poll() if self._child is not None else None
        if code is None:
            return None
        words = self._read(-_MOST_WORDS).decode("utf-8", "replace").strip()
        return "TensorBoard ended with {}\n{}".format(code, words).strip()

    def close(self) -> None:
        if self._child is not None and self._child.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self._child.wait(_LEAVE_S)
            except subprocess.TimeoutExpired:
                pass
            self._signal(signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _prepare(self) -> None:
        """In the new process. Where the system can, it ends also when this one is killed."""
        if self._order.get("nice"):
            os.nice(_LEAST_PRIORITY)
        if self._die_together is not None:
            self._die_together(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._child.pid, number)  # type: ignore[union-attr]
        except OSError:
            pass  # it has ended

    def _find_port(self) -> Optional[int]:
        if self._port is None:
            found = _SAID.search(self._read(1 << 16))
            self._port = int(found.group(1)) if found else None
        return self._port

    def _read(self, count: int) -> bytes:
        """So many bytes from the start, or, below 0, of the end."""
        try:
            with open(self._words, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size + count) if count < 0 else 0)
                return file.read(abs(count))
        except OSError:
            return b""
