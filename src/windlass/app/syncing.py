"""`sync`: what experiment trackers keep in a run's folder, brought here while the job runs, and sent on from here."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.app.edited import Edited
from windlass.app.fetching import PAPERS, Haul, Meter, list_files, make_default_folder
from windlass.app.refreshing import refresh
from windlass.app.session import Session
from windlass.core.job import make_code_folder
from windlass.core.record import RunRecord
from windlass.core.trackers import TRACKERS, Tracker
from windlass.edges.downloads import Target, Wanted
from windlass.edges.files import save_file
from windlass.edges.programs import find_program, run_program
from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable

_PUSHED = "pushed.json"
_EVERY_S = 30.0

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class TrackerRecord:
    """One run of a tracker's."""

    tracker: str
    path: Path
    name: str  # relative to the folder of the run's results
    stamp: str  # of its files: another one means that there is something new to send


@dataclass(frozen=True, kw_only=True)
class Synced:
    run_id: str
    folder: Path
    is_over: bool  # nothing will be added any more
    records: tuple[TrackerRecord, ...] = ()
    new_files: int = 0
    new_bytes: int = 0
    busy: tuple[str, ...] = ()  # files that were rewritten while they were fetched: the next time


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """What became of one record: sent, not sent because there was nothing new, or why not."""

    record: TrackerRecord
    command: str
    is_sent: bool = False
    is_known: bool = False  # it was sent before and has not changed
    problem: str = ""
    said: tuple[str, ...] = ()


def sync_run(
    session: Session,
    record: RunRecord,
    *,
    to: Path | None = None,
    trackers: Collection[str] = tuple(TRACKERS),
    progress: Progress = lambda done, total: None,
) -> Synced:
    """Only what is new, of files that grow only their ends, every one verified."""
    host = session.host(session.site(record.site))
    folder = to or make_default_folder(record)
    base = make_code_folder(record.folder, record.workdir)
    patterns = [pattern for name in trackers for pattern in TRACKERS[name].patterns]
    found = list_files(host, base, patterns).files
    haul = Haul(host, base, Target(folder), found, Edited(session, record, base, Target(folder)))
    busy = haul.bring(Meter(progress, haul.new_bytes), verify=True, grows=True)
    haul.target.clean_up()
    return Synced(
        run_id=record.run_id,
        folder=folder,
        is_over=record.state.is_final,
        records=_find_records(folder, [one for one in found if one.name not in busy]),
        new_files=len(haul.new) - len(busy),
        new_bytes=haul.new_bytes,
        busy=tuple(busy),
    )


def follow_sync(
    session: Session,
    records: Sequence[RunRecord],
    *,
    every_s: float = _EVERY_S,
    to: Path | None = None,
    trackers: Collection[str] = tuple(TRACKERS),
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Synced]:
    """All of them, again and again, until each has ended; each once more after its end."""
    left = list(records)
    while left:
        # Looked at before their files: what is over now writes nothing after this.
        left = list(refresh(session, left).records)
        for record in left:
            try:
                yield sync_run(session, record, to=to, trackers=trackers)
            except (ConnectionLost, HostUnreachable, ClusterUnavailable) as problem:
                session.tell(f"{problem.message}; trying again in {every_s:.0f} s")
                break
        else:
            left = [one for one in left if not one.state.is_final]
        if left:
            sleep(every_s)


def push(session: Session, synced: Synced) -> Iterator[Pushed]:
    """By the user's own tools, with the user's own keys. What has not changed since it was sent is left alone."""
    before = _load_pushed(synced.folder)
    for record in synced.records:
        tracker = TRACKERS[record.tracker]
        if tracker.push and (synced.is_over or not tracker.is_pushed_once):
            done = _push(session, tracker, record, before)
            if done.is_sent:
                before = {**before, record.name: record.stamp}
                _save_pushed(synced.folder, before)
            yield done


def _push(session: Session, tracker: Tracker, record: TrackerRecord, before: Mapping[str, str]) -> Pushed:
    path = str(record.path)
    command = tracker.format_push(path)
    if before.get(record.name) == record.stamp:
        return Pushed(record=record, command=command, is_known=True)
    said: tuple[str, ...] = ()
    for words in tracker.make_push(path):
        if find_program(words, session.environ) is None:
            return Pushed(record=record, command=command, problem="is not installed on this laptop")
        code, said = run_program(words, session.environ)
        if code:
            return Pushed(record=record, command=command, problem=f"ended with exit code {code}", said=said)
    return Pushed(record=record, command=command, is_sent=True, said=said)


def _find_records(folder: Path, files: Sequence[Wanted]) -> tuple[TrackerRecord, ...]:
    grouped: dict[tuple[str, str], list[Wanted]] = defaultdict(list)
    for one in files:
        tracker = _find_tracker(one.name)
        if tracker is not None:
            grouped[tracker.name, tracker.find_record(one.name)].append(one)
    return tuple(
        TrackerRecord(tracker=tracker, path=folder / name, name=name, stamp=_make_stamp(found))
        for (tracker, name), found in sorted(grouped.items())
    )


def _find_tracker(name: str) -> Tracker | None:
    """The first that claims it: what TensorBoard wrote inside a record of another goes with that one."""
    from fnmatch import fnmatchcase

    padded = f"/{name}"  # so that `**/` also stands for no folder at all; fnmatch's `*` crosses folders
    return next(
        (one for one in TRACKERS.values() if any(fnmatchcase(padded, f"*/{it[3:]}") for it in one.patterns)), None
    )


def _make_stamp(files: Sequence[Wanted]) -> str:
    rows = sorted((one.name, one.size, round(one.mtime)) for one in files)
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def _save_pushed(folder: Path, pushed: Mapping[str, str]) -> None:
    (folder / PAPERS).mkdir(exist_ok=True)
    save_file(folder / PAPERS / _PUSHED, json.dumps(pushed, indent=1).encode(), mode=0o600)


def _load_pushed(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / PAPERS / _PUSHED).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(stamp) for name, stamp in found.items()} if isinstance(found, dict) else {}
