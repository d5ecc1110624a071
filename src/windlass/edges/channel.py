"""One conversation with a deputy over a child process's pipes: hello, then frames, never without a deadline."""

import json
import os
import secrets
import selectors
import subprocess
import time
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from windlass.edges.bundle import make_opening
from windlass.edges.host import Reply, Request
from windlass.edges.pipes import start_piped, take_pipes
from windlass_job import wire

_BLOCK = 1 << 18
_WORDS_KEPT = 8000  # bytes of stderr, and of noise before the hello
_DRAIN_S = 1.0  # how long the last words of a dead child are waited for


@dataclass
class ChannelClosed(Exception):
    """The other end is gone, silent or talks nonsense. `replies` came before; `wrote`: it may have read a request."""

    reason: str  # "ended", "silent", "too-old", "garbled", "protocol"
    exit_code: int | None = None
    words: str = ""  # stderr, the last of it
    noise: str = ""  # stdout before the hello
    wrote: bool = False
    greeted: bool = False
    replies: list[Reply] = field(default_factory=list)


class Channel:
    """Spawns the command and says hello; `exchange` is one round trip."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, hello_s: float = 30) -> None:
        self._nonce = secrets.token_hex(12).encode()
        self._outgoing: deque[memoryview] = deque()
        self._incoming = bytearray()
        self._words = bytearray()
        self._noise = b""
        self._wrote = False
        self._greeted = False
        self.last_used = time.time()
        self._process = start_piped(argv, env)
        self._stdin, self._stdout, self._stderr = take_pipes(self._process)
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        for stream in (self._stdout, self._stderr):
            self._selector.register(stream, selectors.EVENT_READ)
        try:
            self.hello = self._greet(hello_s)
        except BaseException:
            self.close()
            raise

    def exchange(self, requests: Sequence[Request], *, patience_s: float) -> list[Reply]:
        """All requests out, all replies in. patience_s: how long nothing at all may happen."""
        replies: list[Reply] = []
        self._wrote = False
        try:
            self._pump(0)  # an end that is known by now is told before anything is written
            for number, request in enumerate(requests):
                self._outgoing.extend(_make_frame(number, request))
            while len(replies) < len(requests):
                reply = self._take_reply()
                if reply is None:
                    self._pump(patience_s)
                else:
                    replies.append(reply)
        except ChannelClosed as closed:
            closed.replies = replies
            self.close()
            raise
        except BaseException:
            self.close()  # interrupted in the middle: what comes next on the pipe would belong to nobody
            raise
        self.last_used = time.time()
        return replies

    def close(self) -> None:
        """Ends the input, which ends the deputy; one that is in the middle of a submission brings it to its end."""
        self._selector.close()
        for stream in (self._stdin, self._stdout, self._stderr):
            stream.close()
        if not self._has_ended():
            self._process.terminate()
            self._has_ended()

    @property
    def words(self) -> str:
        """What came on stderr so far, the last of it."""
        return self._words.decode(errors="replace").replace("\r", "").strip()

    def _greet(self, hello_s: float) -> dict[str, Any]:
        self._outgoing.append(memoryview(make_opening(self._nonce.decode())))
        deadline = time.monotonic() + hello_s
        while (header := self._take_header()) is None:
            self._pump(max(0.0, deadline - time.monotonic()))
        self._wrote = False
        if "too_old" in header:
            raise self._make_closed("too-old", noise=str(header["too_old"]))
        if header.get("protocol") != wire.PROTOCOL:
            raise self._make_closed("protocol")
        del self._incoming[: int(header["payload_bytes"])]
        self._greeted = True
        return header

    def _pump(self, timeout_s: float) -> None:
        """Move bytes once, in whichever direction they can; with timeout 0, only look."""
        if self._outgoing and self._stdin not in self._selector.get_map():
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
        events = self._selector.select(timeout_s)
        if not events and (timeout_s or not self._greeted):
            raise self._make_closed("silent")
        for key, _ in events:
            if key.fileobj is self._stdin:
                self._write_some()
            elif key.fileobj is self._stderr:
                self._hear_words()
            else:
                piece = _read_some(self._stdout)
                if piece == b"":
                    raise self._make_closed("ended")
                self._incoming += piece or b""

    def _write_some(self) -> None:
        view = self._outgoing[0]
        try:
            sent = os.write(self._stdin.fileno(), view[:_BLOCK])
        except BlockingIOError:
            return
        except BrokenPipeError:  # its stdout will end too, and tell
            self._outgoing.clear()
            sent = 0
        self._wrote = True
        if self._outgoing and sent < len(view):
            self._outgoing[0] = view[sent:]
        elif self._outgoing:
            self._outgoing.popleft()
        if not self._outgoing:
            self._selector.unregister(self._stdin)

    def _hear_words(self) -> None:
        piece = _read_some(self._stderr)
        if piece == b"":
            self._selector.unregister(self._stderr)
        self._words += piece or b""
        del self._words[:-_WORDS_KEPT]

    def _take_reply(self) -> Reply | None:
        header = self._take_header()
        if header is None:
            return None
        size = int(header["payload_bytes"])
        if len(self._incoming) < size:
            self._header = header
            return None
        payload = bytes(self._incoming[:size])
        del self._incoming[:size]
        if zlib.crc32(payload) != header["crc"]:
            raise self._make_closed("garbled")
        if header.get("beat"):
            return self._take_reply()
        return Reply(
            ok=bool(header["ok"]),
            values=header.get("values") or {},
            payload=payload,
            problem=header.get("problem") or "",
            kind=header.get("kind") or "",
        )

    _header: dict[str, Any] | None = None  # of the reply whose payload is still on its way

    def _take_header(self) -> dict[str, Any] | None:
        """The next header; what stands before its nonce is the noise of start files and is dropped."""
        if self._header is not None:
            header, self._header = self._header, None
            return header
        start = self._incoming.find(self._nonce + b" ")
        end = self._incoming.find(b"\n", start)
        if start < 0:
            keep = len(self._nonce)
            self._noise = (self._noise + bytes(self._incoming[:-keep]))[-_WORDS_KEPT:]
            del self._incoming[:-keep]
            return None
        if end < 0:
            return None
        line = bytes(self._incoming[start + len(self._nonce) : end])
        del self._incoming[: end + 1]
        try:
            header = json.loads(line)
        except ValueError:
            raise self._make_closed("garbled") from None
        if not isinstance(header, dict):
            raise self._make_closed("garbled")
        header.setdefault("payload_bytes", 0)
        return header

    def _has_ended(self) -> bool:
        try:
            self._process.wait(_DRAIN_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _make_closed(self, reason: str, *, noise: str | None = None) -> ChannelClosed:
        """With the exit code and the last words, which may come a moment after the end of stdout."""
        exit_code = None
        if reason == "ended":
            deadline = time.monotonic() + _DRAIN_S
            while self._stderr in self._selector.get_map() and time.monotonic() < deadline:
                for key, _ in self._selector.select(0.05):
                    if key.fileobj is self._stderr:
                        self._hear_words()
                    elif key.fileobj is self._stdout and not _read_some(self._stdout):
                        self._selector.unregister(self._stdout)
            try:
                exit_code = self._process.wait(max(0.05, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                exit_code = None
        heard = (self._noise + bytes(self._incoming)).decode(errors="replace")
        return ChannelClosed(
            reason,
            exit_code=exit_code,
            words=self.words,
            noise=noise if noise is not None else heard.strip(),
            wrote=self._wrote and self._greeted,
            greeted=self._greeted,
        )


def _make_frame(number: int, request: Request) -> list[memoryview]:
    header = {
        "id": number,
        "operation": request.operation,
        "arguments": request.arguments,
        "payload_bytes": len(request.payload),
        "only_if_ok": request.only_if_ok and number > 0,
    }
    frame = [memoryview(json.dumps(header).encode() + b"\n")]
    return [*frame, memoryview(request.payload)] if request.payload else frame


def _read_some(stream: IO[bytes]) -> bytes | None:
    """None: nothing there yet; empty: the end."""
    try:
        return os.read(stream.fileno(), _BLOCK)
    except BlockingIOError:
        return None
