"""How the ranks of a training meet in a folder of checkpoints: by files in the attempt's own folder, no network.

Ranks find each other by the name of this start of the world and by counting: every rank calls in the same order.
"""

import os
import shutil
import time

from windlass_job import disk
from windlass_job.bounded import say
from windlass_job.saving.attempts import Aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional, Set

_LEFT = b".ranks"
_GIVEN_UP = b".given-up"
_APART_S = 5.0  # ranks of one start begin so far apart, and clocks differ; two starts are further apart
_FIRST_LOOK_S = 0.02
_LOOK_S = 1.0


class SaveFailed(OSError):
    """A checkpoint of all ranks was not published: a rank is missing, or failed."""


class RankFiles:
    def __init__(self, aside: Aside, start: str, patience_s: float) -> None:
        self._aside = aside
        self._start = start.encode("ascii")
        self._patience_s = patience_s
        self._began = time.time()
        self._saves = 0
        self._questions = 0

    # ---- one rank alone ---------------------------------------------------------------------------

    def make_private(self, name: bytes, rank: int) -> bytes:
        """A folder that only this process writes into."""
        if rank == 0:
            self._aside.open()
        else:
            self._wait(self._aside.join, "rank 0 has not opened the folder of checkpoints")
        made = os.path.join(self._aside.path, name + b"." + disk.make_suffix())
        os.mkdir(made)
        return made

    # ---- all ranks into one folder ------------------------------------------------------------------

    def meet(self, name: bytes, rank: int) -> bytes:
        """The folder into which all ranks write: rank 0 makes it, the others wait for it."""
        self._saves += 1
        name = b"%s.%s.%d" % (name, self._start, self._saves)
        if rank != 0:
            return self._find(name, "rank 0 has not begun to save", refuse=lambda: self._refuse_given_up(name))
        self._aside.open()
        made = os.path.join(self._aside.path, name)
        os.mkdir(made + _LEFT)
        os.mkdir(made)
        return made

    def leave(self, made: bytes, rank: int, size: int, error: "Optional[BaseException]") -> None:
        """This rank has written its part, or failed to. Rank 0 stays until all have."""
        said = b"" if error is None else "{}: {}".format(type(error).__name__, error).encode("utf-8", "replace")[:500]
        if rank != 0:
            disk.replace(os.path.join(made + _LEFT, b"%d" % rank), said)
            return
        try:
            if error is None:
                self._wait_for_all(made + _LEFT, set(range(1, size)))
            else:
                _give_up(made, said.decode("utf-8", "replace"))
        except SaveFailed as failed:
            _give_up(made, str(failed))
            raise
        finally:
            shutil.rmtree(made + _LEFT, ignore_errors=True)

    def _wait_for_all(self, folder: bytes, missing: "Set[int]") -> None:
        def look() -> bool:
            os.utime(folder)
            for name in os.listdir(folder):
                if name.isdigit():
                    _refuse_failure(os.path.join(folder, name))
                    missing.discard(int(name))
            return not missing

        self._wait(look, lambda: "ranks {} have not finished their part".format(_name_some(missing)))

    def _refuse_given_up(self, name: bytes) -> None:
        """A rank that comes late finds nothing to write into, and need not wait for it."""
        for path in self._aside.list_inside(name + _GIVEN_UP):
            told = disk.read_json(path) or {}
            if told.get("t", 0) >= self._began - _APART_S:  # not that of an earlier start of the same name
                raise SaveFailed("rank 0 has given this checkpoint up: {}".format(told.get("why")))

    # ---- what rank 0 found ----------------------------------------------------------------------------

    def tell_newest(self, name: bytes) -> None:
        self._questions += 1
        self._aside.open()
        if self._questions == 1:
            self._remove_earlier()
        path = os.path.join(self._aside.path, self._question(self._questions))
        try:
            disk.replace(path, disk.make_json({"newest": disk.as_text(name)}))
        except OSError as error:
            raise self._aside.explain(error)

    def hear_newest(self, rank: int) -> bytes:
        self._questions += 1
        heard = b".heard-%d" % rank
        name = self._question(self._questions)
        path = self._find(name, "rank 0 has not told which checkpoint is the newest", heard)
        told = disk.read_json(path) or {}
        _mark(path + heard)
        return disk.as_path(told.get("newest", ""))

    def _remove_earlier(self) -> None:
        """What rank 0 told in an earlier start of the same name, as of two trainings one after the other in a step."""
        number = 1
        earlier = self._aside.list_inside(self._question(number))
        while earlier:
            for path in earlier:
                disk.remove_if_there(path)
            number += 1
            earlier = self._aside.list_inside(self._question(number))

    def _question(self, number: int) -> bytes:
        return b"newest.%s.%d" % (self._start, number)

    # ---- waiting --------------------------------------------------------------------------------------

    def _find(self, name: bytes, what: str, used: bytes = b"", refuse: "Callable[[], None]" = lambda: None) -> bytes:
        """used: ends the name of the mark at what this rank has used up in an earlier start of the same name.

        refuse: raises when it will never be there.
        """
        found: List[bytes] = []

        def look() -> bool:
            paths = self._aside.list_inside(name)
            found[:] = [path for path in paths if not used or not os.path.lexists(path + used)]
            if not found:
                refuse()
            return bool(found)

        self._wait(look, what)
        return found[-1]

    def _wait(self, look: "Callable[[], bool]", what: "Any") -> None:
        deadline = time.monotonic() + self._patience_s
        pause = _FIRST_LOOK_S
        while not look():
            self._aside.check()
            if time.monotonic() > deadline:
                text = what() if callable(what) else what
                raise SaveFailed("{} within {:g} s".format(text, self._patience_s))
            time.sleep(pause)
            pause = min(2 * pause, _LOOK_S)


def _give_up(made: bytes, why: str) -> None:
    """Said before the folder goes. A full disk, or no folder any more: then late ranks wait as long as they may."""
    try:
        disk.replace(made + _GIVEN_UP, disk.make_json({"t": time.time(), "why": why}))
    except OSError as error:
        say("cannot tell the other ranks: {}".format(error.strerror))


def _mark(path: bytes) -> None:
    try:
        disk.write_new(path, b"")
    except OSError:
        pass  # a full disk, or rank 0's folder is gone: nobody will ask for it again


def _refuse_failure(path: bytes) -> None:
    said = disk.read_bytes(path).decode("utf-8", "replace")
    if said:
        raise SaveFailed("rank {} could not save its part: {}".format(disk.as_text(os.path.basename(path)), said))


def _name_some(ranks: "Set[int]") -> str:
    shown = ", ".join(map(str, sorted(ranks)[:10]))
    return shown if len(ranks) <= 10 else "{} and {} more".format(shown, len(ranks) - 10)
