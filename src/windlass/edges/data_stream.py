"""One session with a porter at a site: large data one way or the other, at the speed of the pipe.

Whoever sends writes from a thread of its own; a second thread reads what comes back, so that neither waits for the
other. See `windlass_job/moving/porter.py` for the other end.
"""

import contextlib
import fcntl
import json
import os
import secrets
import select
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import IO, Any

from windlass.edges.bundle import PORTER, make_opening
from windlass.edges.channel import ChannelClosed
from windlass.edges.host import Reply
from windlass.edges.pipes import end_piped, start_piped, take_pipes
from windlass_job import wire

_BLOCK = 1 << 20
_WORDS_KEPT = 8000
_LAST_WORDS_S = 2.0
_BEAT_S = 10.0
_PATIENCE_S = 900.0  # with a porter that says nothing: bringing a large shard to a busy disk takes minutes
_PIPE_BYTES = 1 << 20  # the most an ordinary user may ask for

Piece = Callable[[memoryview], None]


class StreamFailed(Exception):
    """The porter could not do it; the session goes on."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.problem)
        self.reply = reply


class DataStream:
    """`call` asks and waits, `post` asks and gives a future, `write` sends bytes that want no answer."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        hello_s: float = 40,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._nonce = secrets.token_hex(12).encode()
        self._words = bytearray()
        self._noise = b""
        self._incoming = bytearray()
        self._futures: dict[int, Future[Reply]] = {}
        self._pieces: dict[int, Piece] = {}
        self._next_id = 1
        self._hello: Future[dict[str, Any]] = Future()
        self._closed: ChannelClosed | None = None
        self._failed: Reply | None = None
        self._writing = threading.Lock()
        self._asking = threading.Lock()
        self._last_sent = time.monotonic()
        self._last_sign = time.monotonic()
        self._patience_s = patience_s
        self.on_ack: Callable[[str, int], None] = lambda plan, written: None
        self._process = start_piped(argv, env)
        self._stdin, self._stdout, self._stderr = take_pipes(self._process)
        _widen(self._stdin)
        self._threads = [self._start(self._hear_words), self._start(self._listen)]
        try:
            self._write(memoryview(make_opening(self._nonce.decode(), PORTER)))
            self.hello = self._wait_for_hello(hello_s)
        except BaseException:  # Ctrl-C too: the far end must not be left behind
            self.close()
            raise
        self._start(self._beat)

    def call(self, operation: str, payload: bytes = b"", timeout_s: float | None = None, **arguments: Any) -> Reply:
        """The reply. StreamFailed when the porter could not, ChannelClosed when it is gone."""
        return self.post(operation, payload, **arguments).result(timeout_s)

    def post(self, operation: str, payload: bytes = b"", piece: Piece | None = None, **arguments: Any) -> Future[Reply]:
        future: Future[Reply] = Future()
        with self._asking:
            number, self._next_id = self._next_id, self._next_id + 1
            self._futures[number] = future
            if piece is not None:
                self._pieces[number] = piece
        self.write(operation, payload, id=number, **arguments)
        if self._closed is not None and not future.done():  # it ended while we asked
            with contextlib.suppress(Exception):
                future.set_exception(self._closed)
        return future

    def write(self, operation: str, payload: memoryview | bytes = b"", **arguments: Any) -> None:
        if self._failed is not None:
            raise StreamFailed(self._failed)
        header = json.dumps({"do": operation, "bytes": len(payload), **arguments}).encode() + b"\n"
        with self._writing:
            self._last_sign = time.monotonic()
            self._write(memoryview(header), memoryview(payload))

    def close(self) -> None:
        """Ends the input, which ends the porter; what it has under way is brought to its end there."""
        end_piped(self._process, _LAST_WORDS_S)
        for thread in self._threads:
            thread.join(_LAST_WORDS_S)
        for pipe in (self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                pipe.close()

    @property
    def words(self) -> str:
        return self._words.decode(errors="replace").replace("\r", "").strip()

    def _start(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def _wait_for_hello(self, hello_s: float) -> dict[str, Any]:
        try:
            header = self._hello.result(hello_s)
        except TimeoutError:
            raise self._make_closed("silent") from None
        if "too_old" in header:
            raise self._make_closed("too-old", noise=str(header["too_old"]))
        if header.get("protocol") != wire.PROTOCOL:
            raise self._make_closed("protocol")
        return header

    def _write(self, *views: memoryview, is_sign: bool = True) -> None:
        """All of them, in as few calls as the pipe allows. is_sign: that they are taken shows that somebody lives."""
        left = [view for view in views if len(view)]
        while left:
            try:
                count = os.writev(self._stdin.fileno(), left)
            except (BrokenPipeError, ValueError, OSError) as error:
                raise self._wait_for_end() from error
            self._last_sign = time.monotonic() if is_sign else self._last_sign
            while left and count >= len(left[0]):
                count -= len(left.pop(0))
            if left and count:
                left[0] = left[0][count:]
        self._last_sent = time.monotonic()

    def _wait_for_end(self) -> ChannelClosed:
        """The pipe is broken: why, the listener knows a moment later."""
        deadline = time.monotonic() + _LAST_WORDS_S
        while self._closed is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return self._closed or self._make_closed("ended")

    def _beat(self) -> None:
        """A sign of life while nothing is to be sent; and an end to waiting for one that gives none."""
        while self._closed is None:
            time.sleep(min(_BEAT_S, self._patience_s) / 4)
            is_writing = self._writing.locked()
            if (self._futures or is_writing) and time.monotonic() - self._last_sign > self._patience_s:
                self._give_up("silent")
                self._process.kill()  # whoever writes into its pipe is woken by that
            elif time.monotonic() - self._last_sent > _BEAT_S:
                self._ping()

    def _ping(self) -> None:
        """Not in the middle of a frame, and never waiting: a pipe that is full says enough."""
        if not self._writing.acquire(blocking=False):
            return
        try:
            with contextlib.suppress(ChannelClosed, OSError, ValueError):
                if select.select([], [self._stdin], [], 0)[1]:
                    self._write(memoryview(b'{"do": "ping", "bytes": 0}\n'), is_sign=False)
        finally:
            self._writing.release()

    def _hear_words(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while piece := os.read(self._stderr.fileno(), 65536):
                self._words += piece
                del self._words[:-_WORDS_KEPT]

    def _listen(self) -> None:
        reason = "ended"
        try:
            while True:
                header = self._receive_header()
                payload = self._receive(int(header.get("bytes") or 0))
                if payload and zlib.crc32(payload) != header.get("crc"):
                    reason = "garbled"
                    return
                self._deal_with(header, payload)
        except EOFError:
            pass
        except (OSError, ValueError):
            reason = "garbled" if self._hello.done() else "ended"
        finally:
            self._give_up(reason)

    def _deal_with(self, header: dict[str, Any], payload: bytes) -> None:
        if not self._hello.done():
            self._hello.set_result(header)
        elif "beat" in header:
            pass  # something long goes on; that it was heard is enough
        elif "ack" in header:
            self.on_ack(str(header["plan"]), int(header["ack"]))
        elif "piece" in header:
            self._pieces[int(header["piece"])](memoryview(payload))
        else:
            self._answer(header, payload)

    def _answer(self, header: dict[str, Any], payload: bytes) -> None:
        reply = Reply(
            ok=bool(header["ok"]),
            values=header.get("values") or {},
            payload=payload,
            problem=header.get("problem") or "",
            kind=header.get("kind") or "",
        )
        number = header.get("id")
        if number is None:  # bytes that wanted no answer could not be taken
            self._failed = reply
            self._end_all(StreamFailed(reply))
            return
        self._pieces.pop(number, None)
        future = self._futures.pop(number, None)
        if future is None:  # it was ended already by bytes that could not be taken
            return
        if reply.ok:
            future.set_result(reply)
        else:
            future.set_exception(StreamFailed(reply))

    def _give_up(self, reason: str) -> None:
        if self._closed is not None:  # it was given up before it ended
            return
        self._closed = self._make_closed(reason)
        if not self._hello.done():
            self._hello.set_exception(self._closed)
        self._end_all(self._closed)

    def _end_all(self, error: Exception) -> None:
        with self._asking:
            futures, self._futures = self._futures, {}
        for future in futures.values():
            with contextlib.suppress(Exception):
                future.set_exception(error)

    def _receive_header(self) -> dict[str, Any]:
        """The next line with our word; what stands before it is the noise of start files."""
        while True:
            start = self._incoming.find(self._nonce + b" ")
            end = self._incoming.find(b"\n", start) if start >= 0 else -1
            if end >= 0:
                line = bytes(self._incoming[start + len(self._nonce) : end])
                self._noise = (self._noise + bytes(self._incoming[:start]))[-_WORDS_KEPT:]
                del self._incoming[: end + 1]
                found = json.loads(line)
                if not isinstance(found, dict):
                    raise ValueError("no header")
                return found
            self._fill()

    def _receive(self, size: int) -> bytes:
        while len(self._incoming) < size:
            self._fill()
        payload = bytes(self._incoming[:size])
        del self._incoming[:size]
        return payload

    def _fill(self) -> None:
        piece = os.read(self._stdout.fileno(), _BLOCK)
        if not piece:
            raise EOFError
        self._last_sign = time.monotonic()
        self._incoming += piece

    def _make_closed(self, reason: str, *, noise: str | None = None) -> ChannelClosed:
        exit_code = None
        if reason == "ended":
            with contextlib.suppress(subprocess.TimeoutExpired):
                exit_code = self._process.wait(_LAST_WORDS_S)
            self._threads[0].join(_LAST_WORDS_S) if self._threads else None
        heard = (self._noise + bytes(self._incoming)).decode(errors="replace").strip()
        greeted = self._hello.done() and self._hello.exception() is None
        return ChannelClosed(
            reason,
            exit_code=exit_code,
            words=self.words,
            noise=noise if noise is not None else heard[-_WORDS_KEPT:],
            wrote=greeted,
            greeted=greeted,
        )


def _widen(pipe: IO[bytes]) -> None:
    """Fewer changes between us and ssh; a system that refuses is left in peace."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
