"""One at a time, on all hosts of a site: by files that are made once.

Locks of shared file systems often hold within one host only, or not at all (Lustre without flock, NFS without its lock
daemon); hard links and renames work on all of them. A claim is the file PLACE/N, made by a link: of many at once one
succeeds. The greatest N holds, and its time is its heartbeat; renamed to N.over it has let go. Whoever finds the
greatest one over, or its holder dead, makes N + 1. A holder that was taken for dead, because its node hung, finds a
greater one than its own and does nothing more. No number is given twice.
"""

import getpass
import os
import re
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from windlass_job import disk, faults, wire
from windlass_job.claims import refresh_folder
from windlass_job.deputy_processes import describe_process, is_alive

_NAME = re.compile(rb"(\d{1,9})(\.over)?\Z")
_OVER = b".over"
_LOOK_S = 1.0
_BEAT_S = 10.0
_LINGERS_S = 3600.0  # so long what a silent holder made is left alone: it may wake up

Key = Tuple[int, bool]  # its number, and whether it is over
Timing = NamedTuple("Timing", [("beat_s", float), ("dead_after_s", float), ("confirm_s", float)])


def make_timing() -> Timing:
    """A file server that hangs for a minute must not make two holders of one."""
    beat_s = float(os.environ.get(faults.BEAT_VARIABLE) or _BEAT_S)
    return Timing(beat_s, 9 * beat_s, 2 * beat_s)


class Lost(Exception):
    """Another has taken over."""


def wait_until_held(place: bytes, purpose: str, tell: "Callable[[str], None]", floor: int = 0) -> "Holding":
    """purpose: as in "venv-1 is being built"; tell: gets one sentence about who holds it, again and again."""
    attempt = _Attempt(place, purpose, floor)
    while True:
        found = attempt.make()
        if found is not None:
            return found
        tell(wire.WAITING + attempt.words)
        time.sleep(min(_LOOK_S, attempt.timing.beat_s))


def hold_now(place: bytes, purpose: str) -> "Optional[Holding]":
    """None: another holds it. Waits only to make sure that a silent one is dead."""
    attempt = _Attempt(place, purpose, 0)
    while True:
        found = attempt.make()
        if found is not None or not attempt.looks_dead:
            return found
        time.sleep(min(_LOOK_S, attempt.timing.beat_s))


class Holding:
    """Until `let_go`, or until this process dies."""

    def __init__(self, place: bytes, number: int, timing: Timing) -> None:
        self.number = number
        self._place = place
        self._path = _find_path(place, (number, False))
        self._stop = threading.Event()
        self._is_lost = False
        beat = threading.Thread(target=self._beat, args=(timing.beat_s,))
        beat.daemon = True
        beat.start()

    def __enter__(self) -> "Holding":
        return self

    def __exit__(self, *_: "Any") -> None:
        self.let_go()

    def check(self) -> None:
        """Before anything that others see is changed. Lost: it is somebody else's by now."""
        self._look()
        self.remind()

    def remind(self) -> None:
        """The same by what the last heartbeat saw: it costs nothing."""
        if self._is_lost:
            holder = _find_greatest(self._place)
            who = _describe(_load(self._place, holder)) if holder is not None and holder[0] > self.number else "another"
            words = "{} has taken over, because there was no sign of life from here: nothing more was done"
            raise Lost(words.format(who))

    def guard(self, progress: "Callable[..., None]") -> "Callable[..., None]":
        """For long work: it ends where it tells how far it is."""

        def tell(done: int, total: int, words: str = "") -> None:
            self.remind()
            progress(done, total, words)

        return tell

    def lingers(self, number: int) -> bool:
        """Whether what another made may still be in the making: it was silent, and nobody knows it for dead."""
        return number != self.number and os.path.lexists(_find_path(self._place, (number, False)))

    def let_go(self) -> None:
        self._stop.set()
        try:
            os.rename(self._path, self._path + _OVER)
        except OSError:  # taken away by hand; or a disk that fails, where others see that we are dead
            pass

    def _beat(self, beat_s: float) -> None:
        while not self._stop.wait(beat_s):
            try:
                os.utime(self._path)
                self._look()
            except FileNotFoundError:
                self._is_lost = not self._stop.is_set()
            except OSError:  # a file server that does not answer now
                pass

    def _look(self) -> None:
        greatest = _find_greatest(self._place)
        if greatest is None or greatest[0] != self.number:
            self._is_lost = True


class _Attempt:
    """Somebody who wants it, and what was seen of the one who has it."""

    def __init__(self, place: bytes, purpose: str, floor: int) -> None:
        self.timing = make_timing()
        self.words = ""
        self.looks_dead = False
        self._place = place
        self._floor = floor
        self._me = dict(describe(), purpose=purpose, since=time.time())
        self._last: "Tuple[int, int]" = (0, 0)
        self._quiet_since = 0.0
        disk.make_folders(place)

    def make(self) -> "Optional[Holding]":
        """None: somebody lives who has it."""
        while True:
            greatest = _find_greatest(self._place)
            if greatest is not None and not greatest[1] and not self._is_dead(greatest):
                return None
            number = max(greatest[0] if greatest else 0, self._floor) + 1
            path = _find_path(self._place, (number, False))
            try:
                self._publish(path)
            except FileExistsError:
                continue
            if _find_greatest(self._place) == (number, False):
                self._remove_older(number)
                return Holding(self._place, number, self.timing)
            disk.remove_if_there(path)  # by an old listing: the number had been given, and given back

    def _publish(self, path: bytes) -> None:
        try:
            disk.publish(path, disk.make_json(self._me), 0o644)
        except OSError as error:
            if error.errno not in disk.NO_SPACE:
                raise
            disk.publish(path, b"", 0o644)  # whoever wants to remove something must be able to

    def _is_dead(self, holder: Key) -> bool:
        record = _load(self._place, holder)
        self.words = _describe(record)
        if _is_of_this_host(record, self._me):
            return not is_alive(record)
        beat = _read_beat(self._place, holder)
        now = time.monotonic()
        is_new = (holder[0], beat) != self._last
        if is_new:
            self._last, self._quiet_since = (holder[0], beat), now
        quiet_s = now - self._quiet_since
        if is_new or quiet_s >= self.timing.confirm_s:
            dead_after_s = self.timing.dead_after_s
            self.looks_dead = quiet_s >= dead_after_s or self._find_age_s(beat) > dead_after_s
        # Seen twice: when a file server comes back after a while, the first look shows an old time.
        return self.looks_dead and quiet_s >= self.timing.confirm_s

    def _find_age_s(self, beat: int) -> float:
        """By the clock of the file system itself."""
        clock = os.path.join(self._place, b".clock." + disk.make_suffix())
        try:
            disk.write_new(clock, b"", 0o600)
            return (os.stat(clock).st_mtime_ns - beat) / 1e9
        except OSError as error:
            if error.errno in disk.NO_SPACE:
                return 0.0  # then only our own patience counts
            raise
        finally:
            disk.remove_if_there(clock)

    def _remove_older(self, number: int) -> None:
        now = _read_beat(self._place, (number, False))
        for key in _list_claims(self._place):
            if key[0] >= number:
                continue
            record = _load(self._place, key)
            is_dead = _is_of_this_host(record, self._me) and not is_alive(record)
            if key[1] or is_dead or now - _read_beat(self._place, key) > _LINGERS_S * 1e9:
                disk.remove_if_there(_find_path(self._place, key))


def describe() -> "Dict[str, Any]":
    """This process, as others judge whether it lives."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # the ids of another one mean nothing here
    except OSError:
        space = ""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a number without a name
        user = str(os.getuid())
    about = dict(describe_process(), uid=os.getuid(), user=user, space=space)
    pretended = os.environ.get(faults.HOST_VARIABLE)
    return dict(about, host=pretended) if pretended else about


def _is_of_this_host(record: "Dict[str, Any]", me: "Dict[str, Any]") -> bool:
    return all(record.get(name) == me[name] for name in ("host", "boot", "space", "uid"))


def _describe(record: "Dict[str, Any]") -> str:
    if not record:
        return "another, of whom nothing is known, holds it"
    since = record.get("since")
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since)) if isinstance(since, (int, float)) else "?"
    words = "{purpose} by {user} on {host} (process {pid}) since {when}"
    names = {name: record.get(name, "?") for name in ("purpose", "user", "host", "pid")}
    return words.format(when=when, **names)


def _load(place: bytes, key: Key) -> "Dict[str, Any]":
    try:
        return disk.read_json(_find_path(place, key)) or {}
    except OSError:  # another user's, whose umask hides it: its time can be seen all the same
        return {}


def _read_beat(place: bytes, key: Key) -> int:
    """Opened first: a file server then gives its time of now, and not one that it gave before."""
    path = _find_path(place, key)
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return 0
    except PermissionError:
        return os.stat(path).st_mtime_ns
    try:
        return os.fstat(handle).st_mtime_ns
    finally:
        os.close(handle)


def _find_greatest(place: bytes) -> "Optional[Key]":
    return max(_list_claims(place), default=None)


def _list_claims(place: bytes) -> "List[Key]":
    refresh_folder(place)
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return []
    return [(int(found.group(1)), bool(found.group(2))) for found in map(_NAME.match, names) if found]


def _find_path(place: bytes, key: Key) -> bytes:
    return os.path.join(place, str(key[0]).encode("ascii") + (_OVER if key[1] else b""))
