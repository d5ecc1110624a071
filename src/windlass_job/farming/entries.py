"""Numbered files, each made once and never changed: of many who want to write the next one, one succeeds.

By hard links (see `disk.publish`): they are atomic on Lustre, GPFS and NFS, and no lock is needed. Where there are none
an entry is a folder with one file, renamed into its place: it too is whole or not there. Numbers have no gaps, so the
last one is found by a few looks instead of a listing.
"""

import os
import random
import time
from typing import Callable, Dict, List, Optional, Tuple

from windlass_job import disk
from windlass_job.claims import refresh_folder
from windlass_job.farming import ledger
from windlass_job.farming.ledger import EMPTY, Entry, State

BUCKET = 1000  # files of a folder
_PAUSE_S = 0.02
_MOST_DOUBLINGS = 9  # of that pause: of a thousand who want the next entry each has a turn within some ten seconds
_TROUBLE_S = 1.0  # between two tries on a disk that fails
_INSIDE = b"entry"  # the file where an entry is a folder

# What becomes of the state, and the entry that says so; None: nothing is to be written.
Change = Callable[[State], "Optional[Tuple[State, bytes]]"]


class DiskStore:
    """The ledger's files. A simulation puts another one in its place."""

    def __init__(self, folder: bytes) -> None:
        self._folder = folder

    def exists(self, number: int) -> bool:
        return os.path.lexists(self._path(number))

    def refresh(self, number: int) -> None:
        """A file server's client remembers for a minute that an entry is not there, until its folder is opened."""
        for folder in (self._folder, os.path.dirname(self._path(number))):
            try:
                os.close(os.open(folder, os.O_RDONLY))
            except FileNotFoundError:
                return  # nor is any of its entries

    def read(self, number: int) -> bytes:
        path = self._path(number)
        try:
            return disk.read_bytes(path)
        except IsADirectoryError:
            return disk.read_bytes(os.path.join(path, _INSIDE))

    def publish(self, number: int, content: bytes) -> bool:
        """False: another was first."""
        path = self._path(number)
        try:
            if number % BUCKET == 0 or number == 1:
                disk.make_folders(os.path.dirname(path))
            # Flushed before it can be seen: nobody may build upon what a power cut would take back.
            if not disk.link_new(path, content, is_flushed_first=True):
                disk.rename_new(path, _INSIDE, content)
            disk.flush_all([path, os.path.dirname(path)])
            return True
        except FileExistsError:
            refresh_folder(os.path.dirname(path))
            return False

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def _path(self, number: int) -> bytes:
        return os.path.join(self._folder, b"%06d" % (number // BUCKET), b"%09d" % number)


class Unsure(Exception):
    """Whether an entry was made is not known, because the disk fails: only who has sealed this worker can tell."""


class Ledger:
    """As one process sees it."""

    def __init__(
        self, store: "DiskStore", *, patience_s: float = 10.0, wait: "Callable[[], None]" = lambda: None
    ) -> None:
        """wait: called now and then while a failing disk is waited for, at most so long."""
        self._store = store
        self._patience_s, self._wait = patience_s, wait
        self._entries: "Dict[int, Optional[Entry]]" = {}  # without their states, which are large
        self._state = EMPTY
        self._last = 0  # the greatest number that was seen
        self.conflicts = 0

    def load(self) -> State:
        """The newest state."""
        last = self._find_last()
        if last == self._last:
            return self._state
        number, state = last, EMPTY
        while number > 0:
            found = self._load(number)
            if found is not None:
                state = found.state
                break
            number -= 1  # it was left empty: what it did has not happened
        self._last, self._state = last, state._replace(number=last)
        return self._state

    def refresh(self) -> None:
        """The next `load` sees what is there now, and not what was there a minute ago."""
        self._store.refresh(self._last + 1)

    def load_entries(self, since: int = 1) -> "List[Entry]":
        """In order. Each is read once."""
        self.load()
        found = (self._load_entry(number) for number in range(max(1, since), self._last + 1))
        return [entry for entry in found if entry is not None]

    def append(self, change: Change) -> "Optional[State]":
        """Tried again as often as another was first, each time on the newest state. May raise Unsure."""
        tries = 0
        while True:
            state = self.load()
            made = change(state)
            if made is None:
                return None
            # Not behind what was seen last: `change` may have looked at entries that came meanwhile.
            if self._publish(state.number + 1, made[1]):
                self._last = state.number + 1
                self._state = made[0]._replace(number=self._last)
                return self._state
            self.conflicts += 1
            tries = min(tries + 1, _MOST_DOUBLINGS)
            self._store.pause(random.uniform(0, _PAUSE_S * 2**tries))

    def _publish(self, number: int, content: bytes) -> bool:
        """An error may come after the deed: so each try begins with a look whether it is done."""
        waited_s = 0.0
        while True:
            try:
                return self._store.publish(number, content) or self._store.read(number) == content
            except OSError as error:
                if waited_s >= self._patience_s:
                    raise Unsure("entry {} of the ledger: {}".format(number, error.strerror or error))
            self._store.pause(_TROUBLE_S)
            waited_s += _TROUBLE_S
            self._wait()

    def _find_last(self) -> int:
        if not self._store.exists(self._last + 1):
            return self._last
        low, step = self._last + 1, 1
        while self._store.exists(low + step):
            low, step = low + step, step * 2
        high = low + step  # it is not there
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._store.exists(middle) else (low, middle)
        return low

    def _load(self, number: int) -> "Optional[Entry]":
        try:
            return ledger.read_entry(number, self._store.read(number))
        except ValueError:
            return None

    def _load_entry(self, number: int) -> "Optional[Entry]":
        if number not in self._entries:
            entry = self._load(number)
            self._entries[number] = entry and entry._replace(state=EMPTY._replace(number=number))
        return self._entries[number]
