"""Watching the links of a rehearsal: what each printed, wrote, read back and asked the network for."""

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.app.rehearsal_stage import MODULES, Stage
from windlass.core.job import make_workdir
from windlass.core.plan import Plan
from windlass.core.rehearsal.evidence import LinkSeen, Saved, Written
from windlass.core.rehearsal.words import was_killed_by_srun
from windlass.pocket import queue
from windlass.pocket.model import Job, State
from windlass_job import wire

_MOST_NAMES = 5
_MOST_TEXT = 400_000
_MOST_KEPT = 2000
_LONG_AGO_S = 1_000_000_000
_QUEUED_S = 3600
_KILLED = 128 + signal.SIGKILL  # as srun and shells say it
_NOT_THEIRS = ("__pycache__", ".git")


@dataclass(frozen=True, kw_only=True)
class _File:
    path: Path
    size: int
    written: float


class Watcher:
    """One rehearsal, link by link. Between two links nothing runs: that is when it looks."""

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self._stage, self._plan = stage, plan
        self._run = stage.find_outside(plan.folder) or Path(plan.folder)
        self._code = stage.find_outside(make_workdir(plan)) or Path(make_workdir(plan))
        self._logs: dict[Path, int] = {}
        self._text = ""
        self._asked = 0
        self._kept: dict[Path, Path] = {}  # a name of our own for each file that was saved -> its own
        self._tells_reading = _tells_reading(stage.folder)
        self.began = 0.0

    def read_new(self) -> bytes:
        """What the job printed since the last look."""
        new = b""
        for path in sorted((self._run / wire.LOGS).glob("*.out")):
            at = self._logs.get(path, 0)
            with open(path, "rb") as file:
                file.seek(at)
                part = file.read()
            self._logs[path] = at + len(part)
            new += part
        self._text = (self._text + new.decode("utf-8", "replace"))[-_MOST_TEXT:]
        return new

    def see(self, job: Job, number: int) -> LinkSeen:
        """The link that has just ended."""
        started, ended = job.start_at or 0.0, job.end_at or 0.0
        events = self._load_events(started - 1)
        told = {str(one["kind"]): one for one in events}  # the last of each kind
        outcome, done = told.get(wire.LINK_ENDED, {}).get("outcome"), told.get(wire.COMMAND_ENDED, {})
        asked, code = told.get(wire.STOP_REQUESTED, {}).get("t"), done.get("exit_code")
        is_late = job.state is State.TIMEOUT
        is_forced = code == _KILLED or done.get("signal") == signal.SIGKILL or was_killed_by_srun(self._text)
        saved, elsewhere = self._find_saved(started)
        progress = self._load_progress(number)
        seen = LinkSeen(
            number=number,
            outcome=str(outcome) if outcome else None,
            started=started,
            ended=float(done["t"]) if done and not is_late else ended,
            asked=float(asked) if asked else None,
            was_killed=is_late or (asked is not None and is_forced),
            is_late=is_late,
            command_s=_find_lifetime(events, ended),
            restarts=sum(one["kind"] == wire.COMMAND_RESTARTED for one in events),
            exit_code=code if isinstance(code, int) else job.exit_code or None,
            text=self._text,
            hosts=self._read_hosts(),
            saved=saved,
            elsewhere=elsewhere,
            went_on_from=self._has_read_back(),
            first_done=progress.get("first_done"),
            last_done=progress.get("done"),
            memory_mb=job.max_rss_kb / 1000 if job.max_rss_kb else None,
        )
        self._text = ""
        return seen

    def remember_saved(self) -> None:
        """Before the next link: a second name for each file, and a time of reading that only reading can change."""
        self._kept.clear()
        folder = self._stage.folder / "kept"
        for place, one in enumerate(self._list_files(since=self.began)):
            if not self._is_checkpoint(one.path) or place >= _MOST_KEPT:
                continue
            name = folder / f"{place}-{one.path.name}"
            name.unlink(missing_ok=True)
            try:
                os.link(one.path, name)
                os.utime(name, (one.written - _LONG_AGO_S, one.written))
            except OSError:
                continue
            self._kept[name] = one.path

    def let_time_pass(self) -> None:
        """Nothing runs now, and at a site the next link waits in the queue: it need not fear that this one is alive."""
        status = self._run / wire.STATUS
        if status.exists():
            written = status.stat().st_mtime - _QUEUED_S
            os.utime(status, (written, written))

    def list_written(self) -> tuple[Written, ...]:
        found: list[Written] = []
        files = list(self._list_files(since=self.began))
        for folder in self._stage.folders:
            place = self._stage.find_outside(folder.path)
            mine = [one for one in files if place and one.path.is_relative_to(place)]
            for is_run_folder in (True, False):
                part = [one for one in mine if one.path.is_relative_to(self._code) is is_run_folder]
                names = tuple(str(one.path.relative_to(place or one.path.parent)) for one in part[:_MOST_NAMES])
                total = sum(one.size for one in part)
                if part:
                    found.append(
                        Written(folder=folder, files=len(part), bytes=total, is_run_folder=is_run_folder, names=names)
                    )
        return tuple(found)

    def list_modules(self) -> tuple[str, ...]:
        path = self._stage.pocket / MODULES
        words = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        return tuple(dict.fromkeys(line for line in words if line.split()[:1] in (["load"], ["use"], ["swap"])))

    def _load_events(self, since: float) -> list[dict[str, Any]]:
        path = self._run / wire.EVENTS
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        events = [_read_json(line) for line in lines]
        return [one for one in events if "kind" in one and float(one.get("t") or 0) >= since]

    def _load_progress(self, number: int) -> dict[str, float]:
        path = self._run / wire.PROGRESS
        told = _read_json(path.read_text(encoding="utf-8")) if path.exists() else {}
        if told.get("link") != number:
            return {}
        return {name: float(told[name]) for name in ("first_done", "done") if isinstance(told.get(name), int | float)}

    def _find_saved(self, since: float) -> tuple[Saved, Saved]:
        files = list(self._list_files(since=since))
        checkpoints = [one for one in files if self._is_checkpoint(one.path)]
        return _sum_up(checkpoints, self._code), _sum_up([one for one in files if one not in checkpoints], self._code)

    def _is_checkpoint(self, path: Path) -> bool:
        named = self._plan.checkpoint_folder
        if named is None:
            return True
        folder = self._stage.find_outside(named) if named.startswith("/") else self._code / named
        return folder is not None and path.is_relative_to(folder)

    def _list_files(self, *, since: float) -> Iterator[_File]:
        """Of the training itself: in its working folder, and in the site's areas outside of Windlass's own root."""
        root = self._stage.find_outside(self._stage.root)
        yield from _walk(self._code, since)
        for folder in self._stage.folders:
            place = self._stage.find_outside(folder.path)
            if place is not None:
                yield from _walk(place, since, but=root)

    def _read_hosts(self) -> tuple[str, ...]:
        with open(self._stage.questions, encoding="utf-8", errors="replace") as file:
            file.seek(self._asked)
            names = file.read().split()
            self._asked = file.tell()
        return tuple(dict.fromkeys(name for name in names if "." in name and not name.endswith(".arpa")))

    def _has_read_back(self) -> bool | None:
        if not self._kept or not self._tells_reading:
            return None
        return any(_was_read(name) for name in self._kept)


def list_ended(db: sqlite3.Connection) -> list[Job]:
    """Every start of a job that is over, in order; a requeued job appears once for each."""
    jobs = queue.fetch_jobs(db)
    over = [job for job in jobs if job.state.is_final and job.start_at is not None]
    over += [old for job in jobs for old in queue.fetch_history(db, job.id)]
    return sorted(over, key=lambda job: job.start_at or 0.0)


def _walk(top: Path, since: float, *, but: Path | None = None) -> Iterator[_File]:
    for folder, folders, names in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(one for one in folders if one not in _NOT_THEIRS and here / one != but)
        for name in sorted(names):
            try:
                about = (here / name).lstat()
            except OSError:
                continue
            if about.st_mtime >= since and not name.startswith(".bash_profile"):
                yield _File(path=here / name, size=about.st_size, written=about.st_mtime)


def _sum_up(files: list[_File], code: Path) -> Saved:
    names = [str(one.path.relative_to(code)) if one.path.is_relative_to(code) else one.path.name for one in files]
    return Saved(
        files=len(files),
        bytes=sum(one.size for one in files),
        last=max((one.written for one in files), default=None),
        names=tuple(names[:_MOST_NAMES]),
    )


def _find_lifetime(events: list[dict[str, Any]], ended: float) -> float | None:
    """From the first start of the command to its last end."""
    starts = [float(one["t"]) for one in events if one["kind"] == wire.COMMAND_STARTED]
    ends = [float(one["t"]) for one in events if one["kind"] == wire.COMMAND_ENDED]
    return max([*ends, *([] if ends else [ended])]) - starts[0] if starts else None


def _was_read(path: Path) -> bool:
    about = path.stat()
    return about.st_atime > about.st_mtime - _LONG_AGO_S / 2


def _tells_reading(folder: Path) -> bool:
    """Whether this disk keeps when a file was read: some are mounted without."""
    path = folder / "kept" / "probe"
    path.write_bytes(b"x" * 4096)
    now = path.stat().st_mtime
    os.utime(path, (now - _LONG_AGO_S, now))
    path.read_bytes()
    return _was_read(path)


def _read_json(text: str) -> dict[str, Any]:
    """Empty where it is none: a line may have been cut."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
