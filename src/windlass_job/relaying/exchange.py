"""One line of frames and many sockets: whoever connects here, or is called there, talks over the line."""

import os
import selectors
import socket
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Optional

from windlass_job.relaying import frames

_BLOCK = 1 << 16
_MOST_WAITING = 1 << 18  # bytes for the line: then the sockets are not read until it has taken them
ALIVE_S = 10.0
SILENT_S = 45.0  # nothing heard for so long: the other end is gone

Dial = Callable[[], socket.socket]  # may raise OSError, whose words are told


class Exchange:
    """listener: connections come in here. dial: they are made here. One of the two."""

    def __init__(
        self,
        source: int,
        sink: int,
        *,
        listener: Optional[socket.socket] = None,
        dial: Optional[Dial] = None,
        is_over: Callable[[], Optional[str]] = lambda: None,
    ) -> None:
        """is_over: looked at every second; its words are said to the other end before this one leaves."""
        self._source, self._sink = source, sink
        self._listener, self._dial, self._is_over = listener, dial, is_over
        self._reader = frames.Reader()
        self._line: Deque[memoryview] = deque()
        self._waiting = 0
        self._calls: Dict[int, _Call] = {}
        self._last_number = 0
        self._selector = selectors.DefaultSelector()
        self._heard = self._said = time.monotonic()
        self.last_used = time.monotonic()
        self.said_bye = ""  # why the other end left by itself
        self.refusal = ""  # why it could not connect, the last time
        self._stop, self._wake = os.pipe()

    def run(self) -> str:
        """Until the line ends, or `stop`; why, in a word: `ended`, `silent`, `stopped`, `over`."""
        for handle in (self._source, self._sink, self._stop):
            os.set_blocking(handle, False)
        self._selector.register(self._source, selectors.EVENT_READ, self._hear)
        self._selector.register(self._stop, selectors.EVENT_READ, None)
        if self._listener is not None:
            self._listener.setblocking(False)
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        try:
            while True:
                why = self._turn()
                if why:
                    return why
        finally:
            self._close()

    def stop(self) -> None:
        """From another thread."""
        try:
            os.write(self._wake, b"x")
        except OSError:
            pass  # it has ended by itself

    @property
    def has_connections(self) -> bool:
        return bool(self._calls)

    def _turn(self) -> str:
        now = time.monotonic()
        if now - self._heard > SILENT_S:
            return "silent"
        if now - self._said > ALIVE_S:
            self._say(frames.pack(frames.ALIVE))
        over = self._is_over()
        if over is not None:
            self._say(frames.pack(frames.BYE, content=over.encode("utf-8")[: frames.LARGEST]))
            self._flush()
            return "over"
        for key, events in self._selector.select(1.0):
            if key.fileobj == self._stop:
                return "stopped"
            if key.data(events) is False:
                return "ended"
        return ""

    # ---- the line -------------------------------------------------------------------------------

    def _hear(self, _: int) -> bool:
        try:
            piece = os.read(self._source, _BLOCK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._heard = time.monotonic()
        for frame in self._reader.feed(piece):
            self._take(frame)
        return bool(piece) and not self.said_bye

    def _take(self, frame: frames.Frame) -> None:
        if frame.kind == frames.OPEN and self._dial is not None:
            self._call(frame.number)
        elif frame.kind == frames.BYE:
            self.said_bye = frame.content.decode("utf-8", "replace") or "it left"
        elif frame.kind == frames.REFUSED:
            self.refusal = frame.content.decode("utf-8", "replace")
            self._drop(frame.number)
        call = self._calls.get(frame.number)
        if call is None:
            return
        self.last_used = self._heard
        if frame.kind == frames.DATA:
            call.add(frame.content)
        elif frame.kind == frames.END:
            call.is_ended_there = True
        elif frame.kind == frames.CREDIT:
            call.credit += frames.read_credit(frame)
        elif frame.kind == frames.RESET:
            self._drop(frame.number)
            return
        self._go_on(call)

    def _say(self, content: bytes) -> None:
        if not self._line:
            self._selector.register(self._sink, selectors.EVENT_WRITE, self._write_line)
        self._line.append(memoryview(content))
        self._waiting += len(content)
        self._said = time.monotonic()

    def _write_line(self, _: int) -> bool:
        while self._line:
            try:
                count = os.write(self._sink, self._line[0])
            except BlockingIOError:
                return True
            except OSError:
                return False
            self._waiting -= count
            self._line[0] = self._line[0][count:]
            if not self._line[0]:
                self._line.popleft()
        self._selector.unregister(self._sink)
        for call in list(self._calls.values()):
            self._watch(call)
        return True

    def _flush(self) -> None:
        deadline = time.monotonic() + 2.0
        while self._line and time.monotonic() < deadline and self._write_line(0):
            time.sleep(0.01)

    # ---- connections ----------------------------------------------------------------------------

    def _accept(self, _: int) -> bool:
        assert self._listener is not None
        try:
            end, _address = self._listener.accept()
        except OSError:
            return True  # it has gone again
        self._last_number += 1
        self._say(frames.pack(frames.OPEN, self._last_number))
        self._add(self._last_number, end)
        return True

    def _call(self, number: int) -> None:
        assert self._dial is not None
        try:
            end = self._dial()
        except OSError as error:
            words = getattr(error, "strerror", None) or str(error)
            self._say(frames.pack(frames.REFUSED, number, words.encode("utf-8", "replace")[: frames.LARGEST]))
            return
        self._add(number, end)

    def _add(self, number: int, end: socket.socket) -> None:
        end.setblocking(False)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        call = self._calls[number] = _Call(number, end)
        self.last_used = time.monotonic()
        self._watch(call)

    def _go_on(self, call: "_Call") -> None:
        """Hand on what has come, and see what to wait for next."""
        try:
            written = call.write()
        except OSError:
            self._reset(call)
            return
        if written and not call.is_ended_there:
            self._say(frames.pack_credit(call.number, written))
        if call.is_over:
            self._drop(call.number)
        else:
            self._watch(call)

    def _watch(self, call: "_Call") -> None:
        wants = selectors.EVENT_WRITE if call.waiting else 0
        if call.credit and not call.is_ended_here and self._waiting < _MOST_WAITING:
            wants |= selectors.EVENT_READ
        if wants == call.watched:
            return
        if call.watched:
            self._selector.unregister(call.end)
        if wants:
            self._selector.register(call.end, wants, lambda events: self._serve(call, events))
        call.watched = wants

    def _serve(self, call: "_Call", events: int) -> bool:
        if call.number not in self._calls:
            return True  # dropped a moment ago
        if events & selectors.EVENT_READ and not self._read(call):
            return True
        self._go_on(call)
        return True

    def _read(self, call: "_Call") -> bool:
        try:
            piece = call.end.recv(min(frames.LARGEST, call.credit))
        except BlockingIOError:
            return True
        except OSError:
            self._reset(call)
            return False
        self.last_used = time.monotonic()
        if piece:
            call.credit -= len(piece)
            self._say(frames.pack(frames.DATA, call.number, piece))
        else:
            call.is_ended_here = True
            self._say(frames.pack(frames.END, call.number))
        return True

    def _reset(self, call: "_Call") -> None:
        self._say(frames.pack(frames.RESET, call.number))
        self._drop(call.number)

    def _drop(self, number: int) -> None:
        call = self._calls.pop(number, None)
        if call is not None:
            if call.watched:
                self._selector.unregister(call.end)
            call.end.close()

    def _close(self) -> None:
        for number in list(self._calls):
            self._drop(number)
        self._selector.close()
        os.close(self._stop)
        wake, self._wake = self._wake, -1
        os.close(wake)


class _Call:
    """One connection at this end of the line."""

    def __init__(self, number: int, end: socket.socket) -> None:
        self.number = number
        self.end = end
        self.credit = frames.WINDOW
        self.is_ended_here = False
        self.is_ended_there = False
        self.watched: Any = 0
        self.waiting: Deque[bytes] = deque()
        self._is_shut = False

    @property
    def is_over(self) -> bool:
        return self.is_ended_here and self._is_shut

    def add(self, content: bytes) -> None:
        self.waiting.append(content)

    def write(self) -> int:
        """As much as the socket takes; how many bytes that were."""
        count = 0
        while self.waiting:
            try:
                sent = self.end.send(self.waiting[0])
            except BlockingIOError:
                break
            count += sent
            if sent < len(self.waiting[0]):
                self.waiting[0] = self.waiting[0][sent:]
            else:
                self.waiting.popleft()
        if self.is_ended_there and not self.waiting and not self._is_shut:
            self._is_shut = True
            self.end.shutdown(socket.SHUT_WR)
        return count
