"""What the agent writes into the run folder: events, and the status that is replaced whole.

A thread of its own does all writing, so that a full or dead file system never holds up the command.
"""

import json
import os
import queue
import threading
import time
from typing import Any, Callable, Dict, Optional, Tuple

from windlass_job import disk, wire
from windlass_job.bounded import describe, say

LONGEST_LINE = 4000  # bytes; one write() of less than a page is not torn
MOST_WAITING = 2000
RETRY_S = 1.0


class Recorder:
    """Events and status of one link. Never raises, never waits except in `flush`."""

    def __init__(self, folder: Optional[str], common: Dict[str, Any], clock: Callable[[], float] = time.time) -> None:
        """`common` goes into every event; without a folder nothing is written."""
        self._folder = folder
        self.common = common
        self._clock = clock
        self._events: "queue.Queue[bytes]" = queue.Queue(MOST_WAITING)
        self._status: Optional[Tuple[bytes, Optional[float]]] = None
        self._lock = threading.Lock()
        self._is_written = threading.Condition(self._lock)
        self._waiting = 0
        self.may_write_status: Callable[[], bool] = lambda: True
        if folder is not None:
            threading.Thread(target=self._write_for_ever, daemon=True).start()

    def event(self, kind: str, **values: Any) -> None:
        if self._folder is None:
            return
        record = dict(t=round(self._clock(), 3), kind=kind, **self.common)
        record.update(values)
        with self._lock:
            try:
                self._events.put_nowait(format_line(record))
                self._waiting += 1
            except queue.Full:
                pass  # the file system has hung for long; the log has been told

    def note(self, text: str) -> None:
        """Something we could not do, and went on without: told in the log and, where possible, among the events."""
        say(text)
        self.event(wire.NOTE, text=text)

    def status(self, status: Dict[str, Any], retry_s: Optional[float] = None) -> None:
        """Only the newest counts: an older one that still waits is dropped.

        retry_s: it is the last, and the verdict on the run, so no pains are spared for that long.
        """
        if self._folder is None:
            return
        with self._lock:
            if self._status is None:
                try:
                    self._events.put_nowait(b"")  # wakes the writer; its place in the line is the status's
                    self._waiting += 1
                except queue.Full:
                    return
            deadline = None if retry_s is None else time.monotonic() + retry_s
            self._status = disk.make_json(status), deadline

    def flush(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        with self._lock:
            while self._waiting > 0:
                left = deadline - time.monotonic()
                if left <= 0:
                    say("the run folder did not take the last records within {:g} s".format(timeout_s))
                    return False
                self._is_written.wait(left)
        return True

    def _write_for_ever(self) -> None:
        while True:
            line = self._events.get()
            try:
                self._write(line)
            except Exception as error:  # whatever it is: the job goes on
                say("cannot write to the run folder {}: {}".format(self._folder, describe(error)))
            with self._lock:
                self._waiting -= 1
                self._is_written.notify_all()

    def _write(self, line: bytes) -> None:
        folder = self._folder or ""
        if line:
            append_line(os.path.join(folder, wire.EVENTS), line)
            return
        with self._lock:
            waiting, self._status = self._status, None
        if waiting is not None:
            self._write_status(os.fsencode(os.path.join(folder, wire.STATUS)), *waiting)

    def _write_status(self, path: bytes, content: bytes, deadline: Optional[float]) -> None:
        while True:
            try:
                if self.may_write_status():
                    put_status(path, content, is_last=deadline is not None)
                return
            except FileNotFoundError:  # the run folder was removed
                raise
            except OSError as error:
                if deadline is None or time.monotonic() + RETRY_S > deadline:
                    raise
                say("the last word cannot be written yet: " + describe(error))
            time.sleep(RETRY_S)


def put_status(path: bytes, content: bytes, *, is_last: bool) -> None:
    try:
        disk.replace(path, content)
    except OSError:
        if not is_last or not os.path.exists(path):
            raise
        disk.overwrite(path, content)  # what a full disk or a spent quota still allows


def append_line(path: str, line: bytes) -> None:
    """Opened each time: a folder that was deleted is noticed, and a repaired file system is found again."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def format_line(record: Dict[str, Any]) -> bytes:
    """One line of JSON; the longest texts are cut until it fits."""
    while True:
        line = json.dumps(record).encode("ascii") + b"\n"
        if len(line) <= LONGEST_LINE:
            return line
        key = max(record, key=lambda name: len(json.dumps(record[name])))
        record = dict(record)
        text = str(record[key])
        record[key] = text[: len(text) // 2] + "..." if len(text) > 20 else None
