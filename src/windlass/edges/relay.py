"""A port of this laptop that leads through one session at a site to a service there, without a port being opened."""

import contextlib
import json
import os
import secrets
import select
import socket
import subprocess
import threading
import time
from collections.abc import Sequence

from windlass.edges.bundle import RELAY, make_opening
from windlass.edges.host import Json
from windlass.edges.pipes import end_piped, start_piped, take_pipes
from windlass_job.relaying import frames
from windlass_job.relaying.exchange import Exchange

_BLOCK = 1 << 16
_WORDS_KEPT = 4000
_LAST_WORDS_S = 2.0
HELLO_S = 40.0  # start files with modules, and Slurm, which starts a step


class RelayFailed(Exception):
    """The session did not come up; `words` is what ssh, srun or Python said."""

    def __init__(self, words: str, exit_code: int | None = None) -> None:
        super().__init__(words)
        self.words = words
        self.exit_code = exit_code


class Relay:
    """argv: what starts Python at the far end. The listener stays open when this is closed: another may follow."""

    def __init__(
        self,
        argv: Sequence[str],
        order: Json,
        listener: socket.socket,
        *,
        modules: tuple[str, ...] = RELAY,
        hello_s: float = HELLO_S,
    ) -> None:
        self._nonce = secrets.token_hex(12)
        self._words = bytearray()
        self._why = ""
        try:
            self._process = start_piped(argv)
        except OSError as error:
            raise RelayFailed(f"cannot run {argv[0]}: {error.strerror}") from error
        self._stdin, self._stdout, self._stderr = take_pipes(self._process)
        threading.Thread(target=self._hear_words, daemon=True).start()
        try:
            opening = make_opening(self._nonce, modules) + json.dumps(order).encode() + b"\n"
            self.hello = self._greet(opening, time.monotonic() + hello_s)
        except BaseException:  # Ctrl-C too: the far end must not be left behind
            self._end_process()
            raise
        self._exchange = Exchange(self._stdout.fileno(), self._stdin.fileno(), listener=listener)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def words(self) -> str:
        """Why it ended, as far as anybody said."""
        said = self._words.decode(errors="replace").replace("\r", "").strip()
        return self._exchange.said_bye or said or self._why

    @property
    def said_bye(self) -> str:
        """Why the far end left by itself; empty where it did not."""
        return self._exchange.said_bye

    @property
    def refusal(self) -> str:
        """Why the service could not be called, the last time somebody tried."""
        return self._exchange.refusal

    def close(self) -> None:
        self._exchange.stop()
        self._thread.join(_LAST_WORDS_S)
        self._end_process()

    def _run(self) -> None:
        try:
            self._why = self._exchange.run()
        except frames.Garbled as error:
            self._why = f"the connection is mixed with other output: {error}"
        finally:
            self._end_process()

    def _greet(self, opening: bytes, deadline: float) -> Json:
        """The far end's first word; what stands before it is the noise of start files."""
        os.set_blocking(self._stdin.fileno(), False)
        view, heard, mark = memoryview(opening), b"", f"{self._nonce} ".encode()
        while True:
            start = heard.find(mark)
            if start >= 0 and b"\n" in heard[start:]:
                return self._read_hello(heard[start + len(mark) :])
            writers = [self._stdin] if view else []
            ready = select.select([self._stdout], writers, [], max(0.0, deadline - time.monotonic()))
            if not any(ready):
                raise RelayFailed("no answer from the far end in time")
            if ready[1]:
                view = self._write(view)
            if ready[0]:
                # One byte at a time behind the word: frames may follow at once.
                piece = os.read(self._stdout.fileno(), 1)
                if not piece:
                    raise self._make_failure(heard)
                heard += piece

    def _read_hello(self, line: bytes) -> Json:
        told: Json = json.loads(line)
        if "too_old" in told:
            raise RelayFailed(f"Python {told['too_old']} at the far end is too old: 3.6 or newer is needed")
        if told.get("protocol") != frames.PROTOCOL:
            raise RelayFailed(f"the far end speaks protocol {told.get('protocol')}")
        return told

    def _write(self, view: memoryview) -> memoryview:
        try:
            return view[os.write(self._stdin.fileno(), view[:_BLOCK]) :]
        except BlockingIOError:
            return view
        except BrokenPipeError:  # its output ends too, and tells why
            return view[:0]

    def _make_failure(self, heard: bytes) -> RelayFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS_S)
        time.sleep(0.05)  # the thread that hears its complaints may be a moment behind
        said = self._words.decode(errors="replace").replace("\r", "").strip()
        return RelayFailed(said or heard.decode(errors="replace").strip(), self._process.returncode)

    def _hear_words(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while piece := os.read(self._stderr.fileno(), _BLOCK):
                self._words += piece
                del self._words[:-_WORDS_KEPT]

    def _end_process(self) -> None:
        end_piped(self._process, _LAST_WORDS_S)
        with contextlib.suppress(OSError):
            self._stdout.close()
