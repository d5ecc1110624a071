"""Verb of long work: a walk through storage areas, for what is large and for what will be purged. Changes nothing.

Bounded in time and number. What was not seen is kept in the folder of the work, and the same request goes on there.
"""

import os
import stat
import time
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from windlass_job import disk
from windlass_job.working.behind import Progress, Stopped

STATE = b"state.json"
KEEP_S = 6 * 3600.0  # a walk that stopped longer ago is begun anew: files change
MOST_FOLDERS = 100000  # that are summed up by name
MOST_WAITING = 500000  # that are known and not yet walked through
MOST_LINKED = 200000
TOLD = 100
SOONEST = 50
LEAST_S = 10.0
PATIENCE = 5  # a folder that takes so many times the limit is given up

FAILURES = (ValueError,)
_TIMES = {"atime": "st_atime", "mtime": "st_mtime", "ctime": "st_ctime"}

# Of a folder with all below it: files, bytes, and of those that will be purged files, bytes and the first moment.
Sums = List[Any]
Waiting = List[Any]  # path, depth


def explain(error: Exception) -> "Dict[str, Any]":
    return {"kind": "failed", "problem": str(error)}


def _walk(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """request: places (name, path, depth, purge_s, by), skip, max_s, max_entries, within_s, folder (of the work)."""
    state_file = os.path.join(disk.as_path(request["folder"]), STATE) if request.get("folder") else None
    kept = None if state_file is None else _load_state(state_file)
    clock = _Clock(float(request["max_s"]), int(request["max_entries"]), progress)
    skip = frozenset(os.path.realpath(disk.expand_root(path)) for path in request.get("skip") or ())
    walks = [_Place(place, request, skip, (kept or {}).get(place["name"])) for place in request["places"]]
    try:
        for walk in walks:
            walk.go_on(clock)
    finally:
        if state_file is not None:
            _save_state(state_file, walks)
    is_whole = all(walk.is_whole for walk in walks)
    return {
        "places": [walk.tell() for walk in walks],
        "is_whole": is_whole,
        "went_on": kept is not None,
        "time": time.time(),
    }


class _Clock:
    """When to stop: by time, and by the number of entries that were looked at."""

    def __init__(self, max_s: float, max_entries: int, progress: Progress) -> None:
        self._began = time.monotonic()
        self._max_s = max_s
        self._left = max_entries
        self._progress = progress
        self._seen = 0

    @property
    def is_over(self) -> bool:
        return self._left <= 0 or time.monotonic() - self._began > self._max_s

    @property
    def is_far_over(self) -> bool:
        return time.monotonic() - self._began > PATIENCE * max(LEAST_S, self._max_s)

    def count(self, entries: int, place: bytes) -> None:
        self._left -= entries
        self._seen += entries
        self._progress(self._seen, 0, disk.as_text(place)[-200:])


class _Place:
    """One area, walked through folder by folder; what a folder holds counts when all of it was seen."""

    def __init__(
        self,
        place: "Dict[str, Any]",
        request: "Dict[str, Any]",
        skip: "frozenset[bytes]",
        kept: "Optional[Dict[str, Any]]",
    ) -> None:
        self.name = place["name"]
        self._skip = skip
        self._depth = int(place.get("depth") or 3)
        self._by = [_TIMES[word] for word in place.get("by") or ("atime", "mtime")]
        self._purge_s = place.get("purge_s")
        self._until = time.time() + float(request.get("within_s") or 0)
        self._user = os.geteuid()
        self._linked: Set[Tuple[int, int]] = set()
        self._problem: Optional[str] = None
        self._top = self._find_top(place["path"])
        self._read(kept or {})

    def _find_top(self, text: str) -> bytes:
        try:
            top = os.path.realpath(disk.expand_root(text))
            self._device = os.stat(top).st_dev
            return top
        except disk.Refused as error:
            self._problem = error.problem
        except OSError as error:
            self._problem = (error.strerror or str(error)).lower()
        self._device = -1
        return disk.as_path(text)

    def _read(self, kept: "Dict[str, Any]") -> None:
        self._sums: Dict[str, Sums] = kept.get("sums") or {}
        self._waiting: List[Waiting] = kept.get("waiting") or []
        self._soonest: List[Any] = [tuple(one) for one in kept.get("soonest") or ()]
        self._counts = kept.get("counts") or {"unreadable": 0, "others": 0, "given_up": 0, "unnamed": 0}
        if not kept and self._problem is None:
            self._waiting = [[disk.as_text(self._top), 0]]

    def save(self) -> "Dict[str, Any]":
        return {"sums": self._sums, "waiting": self._waiting, "soonest": self._soonest, "counts": self._counts}

    @property
    def is_whole(self) -> bool:
        return not self._waiting

    def go_on(self, clock: _Clock) -> None:
        """One folder at least, so that a walk comes to its end however little time each round has."""
        while self._waiting:
            path, depth = self._waiting.pop()
            try:
                self._walk_folder(disk.as_path(path), depth, clock)
            except Stopped:
                self._waiting.append([path, depth])
                raise
            except _TooSlow:
                self._counts["given_up"] += 1
            except OSError:  # removed meanwhile, or not ours to read
                self._counts["unreadable"] += 1
            if clock.is_over:
                return

    def _walk_folder(self, folder: bytes, depth: int, clock: _Clock) -> None:
        sums: Sums = [0, 0, 0, 0, None]
        inner: List[Waiting] = []
        soonest: List[Any] = []
        count = 0
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if count % 1000 == 0:
                    clock.count(1000, folder)
                    if clock.is_far_over:
                        raise _TooSlow
                try:
                    self._look_at(entry, depth, sums, inner, soonest)
                except OSError:
                    self._counts["unreadable"] += 1
        clock.count(count % 1000 + 1, folder)
        room = MOST_WAITING - len(self._waiting)
        self._waiting.extend(inner[:room])
        self._counts["given_up"] += max(0, len(inner) - room)
        self._soonest = sorted(self._soonest + soonest)[:SOONEST]
        self._add(folder, sums)

    def _look_at(self, entry: "Any", depth: int, sums: Sums, inner: "List[Waiting]", soonest: "List[Any]") -> None:
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            if found.st_dev != self._device or entry.path in self._skip:
                return
            if depth < 2 and found.st_uid != self._user and not os.access(entry.path, os.W_OK):
                self._counts["others"] += 1  # somebody else's part of an area that all share
                return
            inner.append([disk.as_text(entry.path), depth + 1])
            return
        if found.st_nlink > 1 and self._is_known(found):
            return
        size = found.st_blocks * 512
        sums[0] += 1
        sums[1] += size
        moment = self._find_purge(found)
        if moment is not None and moment <= self._until:
            sums[2] += 1
            sums[3] += size
            sums[4] = moment if sums[4] is None else min(sums[4], moment)
            soonest.append((moment, disk.as_text(entry.path), size))
            if len(soonest) > 4 * SOONEST:
                soonest[:] = sorted(soonest)[:SOONEST]

    def _is_known(self, found: os.stat_result) -> bool:
        """Another name of a file that counts already."""
        key = (found.st_dev, found.st_ino)
        if key in self._linked:
            return True
        if len(self._linked) < MOST_LINKED:
            self._linked.add(key)
        return False

    def _find_purge(self, found: os.stat_result) -> "Optional[float]":
        """When it will be removed: only files of this user's, by the newest of the times that the site goes by."""
        if self._purge_s is None or found.st_uid != self._user:
            return None
        newest: float = max(getattr(found, name) for name in self._by)
        return newest + float(self._purge_s)

    def _add(self, folder: bytes, sums: Sums) -> None:
        """To the folder and all above it, as far down as they are told apart."""
        below = os.path.relpath(folder, self._top)
        parts = [] if below == b"." else below.split(b"/")
        for length in range(min(len(parts), self._depth) + 1):
            name = disk.as_text(b"/".join(parts[:length]))
            if name not in self._sums and len(self._sums) >= MOST_FOLDERS:
                self._counts["unnamed"] += 1
                continue
            found = self._sums.setdefault(name, [0, 0, 0, 0, None])
            for place in range(4):
                found[place] += sums[place]
            moments = [one for one in (found[4], sums[4]) if one is not None]
            found[4] = min(moments) if moments else None

    def tell(self) -> "Dict[str, Any]":
        most = TOLD if self._depth > 2 else 10 * TOLD  # what Windlass holds is told whole
        biggest = sorted(self._sums.items(), key=lambda one: (-one[1][1], one[0]))[:most]
        doomed = [one for one in self._sums.items() if one[1][2]]
        doomed.sort(key=lambda one: (one[1][4] or 0, one[0]))
        return {
            "name": self.name,
            "path": disk.as_text(self._top),
            "problem": self._problem,
            "is_whole": self.is_whole,
            "whole": self._sums.get("") or [0, 0, 0, 0, None],
            "biggest": [[name] + sums for name, sums in biggest if name],
            "doomed": [[name] + sums for name, sums in doomed[:TOLD] if name],
            "soonest": [list(one) for one in self._soonest],
            "waiting": len(self._waiting),
            "next": [path for path, _ in self._waiting[-5:]],
            "counts": self._counts,
        }


class _TooSlow(Exception):
    """One folder has taken too long."""


def _save_state(path: bytes, walks: "List[_Place]") -> None:
    if all(walk.is_whole for walk in walks):
        disk.remove_if_there(path)
        return
    state = {"time": time.time(), "places": {walk.name: walk.save() for walk in walks}}
    disk.replace(path, disk.make_json(state), 0o600)


def _load_state(path: bytes) -> "Optional[Dict[str, Any]]":
    """By place; None where there is none, or an old one."""
    try:
        state = disk.read_json(path)
    except OSError:
        return None
    if state is None or not 0 <= time.time() - float(state.get("time") or 0) < KEEP_S:
        return None
    places = state.get("places")
    return places if isinstance(places, dict) else None


VERBS: Dict[str, Callable[[Dict[str, Any], Progress], Dict[str, Any]]] = {"walk": _walk}
