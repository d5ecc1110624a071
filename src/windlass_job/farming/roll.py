"""Who is there: a file in beats/ of each worker, whose time it renews; who wants tasks; and the records of the dead."""

import os
from typing import Iterator, List, NamedTuple, Optional

from windlass_job import disk, faults
from windlass_job.claims import refresh_folder

_BEAT_S = 10.0

Timing = NamedTuple("Timing", [("beat_s", float), ("dead_after_s", float)])


def make_timing() -> Timing:
    """A file server that hangs for a minute must not make the living dead."""
    beat_s = float(os.environ.get(faults.BEAT_VARIABLE) or _BEAT_S)
    return Timing(beat_s, 9 * beat_s)


class DiskRoll:
    """A simulation puts another one in its place."""

    def __init__(self, folder: bytes) -> None:
        self._beats = os.path.join(folder, b"beats")
        self._pilots = os.path.join(folder, b"pilots")
        self._wanted = os.path.join(folder, b"wanted")

    def join(self, name: str, number: int) -> None:
        """number: the newest entry of the ledger; all that this worker does comes later."""
        disk.make_folders(self._beats)
        disk.replace(self._find_beat(name), b"%d\n" % number)

    def beat(self, name: str) -> bool:
        """False: others have taken it for dead."""
        try:
            os.utime(self._find_beat(name))
            return True
        except FileNotFoundError:
            return False

    def leave(self, name: str) -> None:
        disk.remove_if_there(os.path.join(self._wanted, disk.as_path(name)))
        disk.remove_if_there(self._find_beat(name))

    def want(self, name: str, is_wanting: bool) -> None:
        """Told to others: this one has slots without tasks."""
        path = os.path.join(self._wanted, disk.as_path(name))
        if not is_wanting:
            disk.remove_if_there(path)
            return
        disk.make_folders(self._wanted)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))

    def is_wanted(self) -> bool:
        refresh_folder(self._wanted)
        try:
            return bool(os.listdir(self._wanted))
        except FileNotFoundError:
            return False

    def list_names(self) -> "List[str]":
        refresh_folder(self._beats)
        try:
            names = os.listdir(self._beats)
        except FileNotFoundError:
            return []
        return sorted(disk.as_text(name) for name in names if not name.startswith(b"."))

    def list_living(self, dead_after_s: float) -> "List[str]":
        """For one look from outside. Both times are the file server's: those of the looker's clock may be off."""
        names = self.list_names()
        try:
            now = os.stat(self._beats).st_mtime
        except FileNotFoundError:
            return []
        beats = ((name, self.read_beat(name)) for name in names)
        return [name for name, beat in beats if beat is not None and now - beat / 1e9 < dead_after_s]

    def read_beat(self, name: str) -> "Optional[int]":
        """Opened first: a file server then gives its time of now. None: it has left."""
        try:
            handle = os.open(self._find_beat(name), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return os.fstat(handle).st_mtime_ns
        finally:
            os.close(handle)

    def read_joined(self, name: str) -> int:
        """The newest entry of the ledger when it came; 0 where that is not known."""
        try:
            word = disk.read_bytes(self._find_beat(name)).strip()
        except FileNotFoundError:
            return 0
        return int(word) if word.isdigit() else 0

    def read_records(self, name: str) -> "Iterator[bytes]":
        """Line by line: there may be millions."""
        try:
            with open(os.path.join(self._pilots, disk.as_path(name) + b".rec"), "rb") as file:
                for line in file:
                    yield line
        except FileNotFoundError:
            return

    def _find_beat(self, name: str) -> bytes:
        return os.path.join(self._beats, disk.as_path(name))
