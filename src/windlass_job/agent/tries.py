"""Whether it is worth going on: what a try or a link has saved, and when to start a command that broke down again."""

import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from windlass_job import wire

MOST_TRIES = 100  # a training that saves a little and breaks down, for ever
MOST_ENTRIES = 10000
ENOUGH_LINKS = 2  # in a row, that saved nothing
LITTLE_S = 60.0
LITTLE = 0.1  # of the job's time
_OWN = b".windlass-"  # where a checkpoint is written aside: not yet one

# How far a training has come: the newest change of a file among its checkpoints (nanoseconds; 0: none; None: not
# known), what run.progress() told, and the step that was last saved by the API.
Mark = NamedTuple("Mark", [("newest", Optional[int]), ("done", Optional[float]), ("saved", Optional[float])])
UNKNOWN = Mark(None, None, None)


def load_mark(checkpoints: Optional[str], progress: Dict[str, Any]) -> Mark:
    """May hang with the file system."""
    newest = _find_newest(os.fsencode(checkpoints)) if checkpoints else None
    return Mark(newest, _number(progress.get("done")), _number(progress.get("saved_step")))


def read_mark(record: object) -> Mark:
    """As it stands in status.json, a list of three."""
    if not isinstance(record, (list, tuple)) or len(record) != len(Mark._fields):
        return UNKNOWN
    newest, done, saved = record
    return Mark(newest if isinstance(newest, int) else None, _number(done), _number(saved))


def has_saved(before: Mark, after: Mark) -> Optional[bool]:
    """None when nothing tells: without a folder for checkpoints and without a word by the API nothing is judged."""
    if after.done is not None and (before.done is None or after.done > before.done):
        return True
    if after.saved is not None and after.saved != before.saved:
        return True
    if before.newest is None or after.newest is None:
        return None if after.done is None and after.saved is None else False
    return after.newest > before.newest


def find_saved(mark: Mark, told: object, before: Optional[float]) -> Optional[float]:
    """When something was saved last, in seconds since 1970; 0: nothing yet. None: nobody can tell.

    told: by the API; before: as it was known.
    """
    newest = None if mark.newest is None else mark.newest / 1e9
    known = [one for one in (newest, _number(told), before) if one is not None]
    return max(known) if known else None


class Tries:
    """The starts of one command in one job."""

    def __init__(self) -> None:
        self.count = 0
        self._barren = 0
        self._mark = UNKNOWN

    def begin(self, mark: Mark) -> None:
        self.count += 1
        self._mark = mark

    def has_saved(self, mark: Mark) -> Optional[bool]:
        """Since this try began."""
        return has_saved(self._mark, mark)

    def is_worth_another(self, exit_code: int, saved: Optional[bool]) -> bool:
        """A crash may have been bad luck, once; a plain exit code without anything saved is the training's word."""
        self._barren = 0 if saved else self._barren + 1
        was_killed = exit_code > 128
        return self.count < MOST_TRIES and (bool(saved) or (was_killed and self._barren < 2))

    @property
    def pause_s(self) -> float:
        return 1.0 if self.count <= 1 else 5.0


def is_too_late(left_s: Optional[float], whole_s: Optional[float]) -> bool:
    """When so little of the job's time is left that another start would be for nothing."""
    if left_s is None:
        return False
    return left_s < min(LITTLE_S, LITTLE * whole_s if whole_s else LITTLE_S)


def count_stalled(previous: Dict[str, Any], chain_first: int, mark: Mark) -> int:
    """How many links in a row, up to the one that left this status, have saved nothing."""
    submission, stalled = previous.get("submission"), previous.get("stalled")
    if not isinstance(submission, int) or submission < chain_first or not isinstance(stalled, int):
        return 0  # somebody resumed the run: a fresh start
    state = previous.get("state")
    if state in (wire.CUT, wire.SKIPPED):
        return stalled
    if has_saved(read_mark(previous.get("mark")), mark) is not False:
        return 0
    # Asked to stop, and killed at the end of its time before the agent could say so; others died by no fault.
    return stalled + (1 if state == wire.RUNNING and previous.get("stop_requested") else 0)


def _find_newest(folder: bytes) -> Optional[int]:
    """Of the files: a folder changes also when something is written aside in it.

    When the file system noted a change, not the date a file bears: that can be any, and one of 2099 hides all others.
    """
    newest, seen, folders = 0, 0, [folder]
    while folders:
        found, inner, count = _scan(folders.pop())
        newest, seen = max(newest, found), seen + count
        folders.extend(inner)
        if seen > MOST_ENTRIES:
            return None
    return newest


def _scan(folder: bytes) -> Tuple[int, List[bytes], int]:
    """The newest file in it, the folders in it, and how many entries it has."""
    newest, count = 0, 0
    inner: List[bytes] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if entry.name.startswith(_OWN) or count > MOST_ENTRIES:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.path)
                else:
                    newest = max(newest, entry.stat(follow_symlinks=False).st_ctime_ns)
    except OSError:
        pass  # it is not there, or was removed just now
    return newest, inner, count


def _number(value: object) -> Optional[float]:
    return value if isinstance(value, (int, float)) else None
