"""How far a sending in the background is, in a file beside its order: what is written, and what is read by others."""

import os
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from windlass.edges.files import save_file
from windlass.errors import WindlassError

PROGRESS = "progress.json"
_TELL_S = 1.0
_UPDATES = 30  # that the rate is taken of: half a minute


@dataclass(frozen=True, kw_only=True)
class Progress:
    pid: int = 0
    state: str = "running"
    done_bytes: int = 0
    total_bytes: int = 0
    rate: float | None = None  # bytes a second, lately
    message: str = ""


class Pace:
    """Bytes a second over the last updates: what is there from before a cut counts at once, and is not sent."""

    def __init__(self, now: float) -> None:
        self._seen = deque([(now, 0)], maxlen=_UPDATES)

    def measure(self, now: float, done: int) -> float | None:
        since, before = self._seen[0]
        self._seen.append((now, done))
        return (done - before) / (now - since) if now > since else None


class ProgressWriter:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pace = Pace(time.monotonic())
        self._last = 0.0
        self._now = Progress(pid=os.getpid())
        save_progress(folder, self._now)

    def update(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last < _TELL_S and done < total:
            return
        self._last = now
        rate = self._pace.measure(now, done)
        self._now = Progress(pid=os.getpid(), done_bytes=done, total_bytes=total, rate=rate)
        self._save()

    def end(self, state: str, message: str) -> None:
        self._now = replace(self._now, state=state, message=message)
        self._save()

    def _save(self) -> None:
        """A disk that is full by now must not end what is sent to another."""
        try:
            save_progress(self._folder, self._now)
        except WindlassError:
            with suppress(OSError):
                _overwrite_progress(self._folder, self._now)


def load_progress(folder: Path) -> Progress:
    try:
        return msgspec.json.decode((folder / PROGRESS).read_bytes(), type=Progress)
    except (OSError, msgspec.MsgspecError):
        return Progress()


def save_progress(folder: Path, progress: Progress) -> None:
    save_file(folder / PROGRESS, msgspec.json.encode(progress), is_durable=False)


def _overwrite_progress(folder: Path, progress: Progress) -> None:
    """In place, which needs no space."""
    with open(folder / PROGRESS, "r+b", buffering=0) as file:
        file.write(msgspec.json.encode(progress).ljust(os.fstat(file.fileno()).st_size))
