"""A way to a host that is long, or breaks: passes bytes on after a delay, and cuts every connection after so many.

Run as a program, so that it takes nothing from the process that is tested.
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 1 << 18
_MOST_HELD = 64 << 20


@contextlib.contextmanager
def run_proxy(
    port: int, *, host: str = "127.0.0.1", delay_s: float = 0, cut_after: int = 0, cuts: int = 1000
) -> Iterator[int]:
    """The port it listens on; delay_s: each way. cut_after: bytes in one direction; cuts: so many connections."""
    argv = [sys.executable, __file__, str(port), str(delay_s), str(cut_after), str(cuts), host]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class _Direction:
    """One thread reads, another writes what has waited long enough."""

    def __init__(self, source: socket.socket, sink: socket.socket, delay_s: float, cut_after: int) -> None:
        self._source = source
        self._sink = sink
        self._delay_s = delay_s
        self._cut_after = cut_after
        self._held: deque[tuple[float, bytes]] = deque()
        self._size = 0
        self._change = threading.Condition()

    def start(self) -> None:
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def _read(self) -> None:
        passed = 0
        while True:
            try:
                piece = self._source.recv(_BLOCK)
            except OSError:
                piece = b""
            passed += len(piece)
            if self._cut_after and passed > self._cut_after:
                _close(self._source, self._sink)
                return
            with self._change:
                self._change.wait_for(lambda: self._size < _MOST_HELD)
                self._held.append((time.monotonic() + self._delay_s, piece))
                self._size += len(piece)
                self._change.notify_all()
            if not piece:
                return

    def _write(self) -> None:
        while True:
            with self._change:
                self._change.wait_for(lambda: self._held)
                due, piece = self._held.popleft()
                self._size -= len(piece)
                self._change.notify_all()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not piece:
                    self._sink.shutdown(socket.SHUT_WR)
                    return
                self._sink.sendall(piece)
            except OSError:
                _close(self._source, self._sink)
                return


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("delay_s", type=float)
    parser.add_argument("cut_after", type=int)
    parser.add_argument("cuts", type=int)
    parser.add_argument("host")
    wish = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    parent = os.getppid()
    for number in range(10**6):
        client, _ = listener.accept()
        if os.getppid() != parent:
            return
        server = socket.create_connection((wish.host, wish.port))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        cut_after = wish.cut_after if number < wish.cuts else 0
        _Direction(client, server, wish.delay_s, cut_after).start()
        _Direction(server, client, wish.delay_s, cut_after).start()


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    main()
