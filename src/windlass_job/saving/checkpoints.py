"""A folder of checkpoints: each is whole or not there, the last few are kept, a damaged one is passed over.

DIR/step-0000000123     published by one rename, with a manifest of sizes and checksums
DIR/.windlass-...       where attempts write (attempts.py)
DIR/.damaged-...        what was found damaged, the last few: nothing is thrown away unseen
"""

import errno
import operator
import os
import re
import shutil
import time

from windlass_job import disk
from windlass_job.bounded import describe, say
from windlass_job.faults import pass_point
from windlass_job.saving import attempts, manifest, rank_files, world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Callable, Dict, List, Mapping, Optional, Union

_NAME = re.compile(rb"step-(\d+)(?:\.(\d+))?\Z")
_DAMAGED = b".damaged-"
_UNKNOWN = float("inf")
MOST_DAMAGED = 2
NEARLY_FULL = 1 << 20  # bytes; torch.save tells a full disk as RuntimeError


class Checkpoints:
    """Made by `run.checkpoint`. Every rank of a training has its own and may call everything on it."""

    def __init__(
        self,
        folder: "Union[str, Path]",
        keep: int = 2,
        patience_s: float = 600.0,
        env: "Mapping[str, str]" = os.environ,
        on_saved: "Callable[[int, float], None]" = lambda step, seconds: None,
    ) -> None:
        """keep: how many to keep, patience_s: how long ranks wait for each other."""
        self._folder = os.path.abspath(os.fsencode(str(folder)))
        self.keep = check_keep(keep)
        self._env = env
        self._on_saved = on_saved
        self.aside = attempts.Aside(self._folder, env)
        self.ranks = rank_files.RankFiles(self.aside, world.name_start(env), patience_s)
        if self.rank == 0:
            self.aside.open()
        else:
            self.aside.check()

    @property
    def rank(self) -> int:
        return world.find_place(self._env)[0]

    @property
    def world_size(self) -> int:
        return world.find_place(self._env)[1]

    def save(self, step: int, all_ranks: bool = False) -> "Save":
        """`with saves.save(step) as folder:` write into the folder; leaving the block publishes it.

        An exception in the block leaves nothing but the checkpoints there were. all_ranks: every rank writes into the
        same folder, and it is published when all have left the block. Without it what ranks other than 0 write is
        thrown away.
        """
        number = int(step)
        if number < 0:
            raise ValueError("a checkpoint's step is a number from 0 on, not {}".format(number))
        return Save(self, number, all_ranks and self.world_size > 1)

    def latest(self) -> "Optional[Path]":
        """The newest complete checkpoint whose content is what was written, or None. The same on every rank.

        Rank 0 reads and verifies it; where there are several ranks the others wait for its word.
        """
        if self.world_size == 1:
            return _as_path(self._find_newest())
        if self.rank != 0:
            name = self.ranks.hear_newest(self.rank)
        else:
            found = self._find_newest()
            name = b"" if found is None else os.path.basename(found)
            self.ranks.tell_newest(name)
        return _as_path(os.path.join(self._folder, name) if name else None)

    def publish(self, made: bytes, step: int, began: float) -> None:
        """Rename a finished folder into its place, and remove those beyond `keep`."""
        self.aside.open()
        numbers = [one["number"] for one in self._list() if one["number"] != _UNKNOWN]
        about = {"step": step, "number": 1 + max(numbers + [0]), "t": time.time()}
        if not manifest.seal(made, about):
            say("nothing was written for step {}: it is not a checkpoint".format(step))
            shutil.rmtree(made, ignore_errors=True)
            return
        pass_point("save-sealed")
        self._rename(made, step)
        disk.flush(self._folder)
        pass_point("save-published")
        self._on_saved(step, time.monotonic() - began)
        self._remove_old()
        pass_point("save-ended")

    def explain_failure(self, error: BaseException, made: bytes, step: int) -> BaseException:
        """Clear away what was written; a full disk is an OSError that says what is left, whoever told it how."""
        is_full = getattr(error, "errno", None) in disk.NO_SPACE
        if isinstance(error, Exception) and not isinstance(error, OSError):
            is_full = is_full or _is_full(self._folder)
        if made:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError) and not is_full:
            return self.aside.explain(error)
        if not is_full:
            return error
        kept = ", ".join(disk.as_text(one["name"]) for one in self._list()) or "none"
        place = disk.as_text(self._folder)
        text = "no space for the checkpoint of step {} in {}; kept: {}".format(step, place, kept)
        return OSError(getattr(error, "errno", None) or errno.ENOSPC, text)

    def _rename(self, made: bytes, step: int) -> None:
        """A step that is saved again gets a name of its own, so that the older one is there until the newer is."""
        plain = os.path.join(self._folder, b"step-%010d" % step)
        target, again = plain, 1
        while True:
            try:
                return os.rename(made, target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) or not os.path.lexists(target):
                    raise
            again += 1
            target = plain + b".%d" % again

    def _find_newest(self) -> "Optional[bytes]":
        for one in self._list():
            damage = manifest.find_damage(one["path"])
            if damage is None:
                return bytes(one["path"])
            text, is_certain = damage
            say("checkpoint {} is passed over: {}".format(disk.as_text(one["path"]), text))
            if is_certain:
                self._set_aside(one["path"])
        return None

    def _list(self) -> "List[Dict[str, Any]]":
        """Newest first, by when they were saved: a training that was set back saves smaller steps."""
        try:
            names = [name for name in os.listdir(self._folder) if _NAME.match(name)]
        except FileNotFoundError:
            return []
        found = []
        for name in names:
            path = os.path.join(self._folder, name)
            if not os.path.lexists(os.path.join(path, disk.as_path(manifest.NAME))):
                say("{} has no manifest and is not taken for a checkpoint".format(disk.as_text(path)))
                continue
            number = (_load_quietly(path) or {}).get("number")
            # One whose manifest is broken is looked at first, and passed over then.
            found.append({"name": name, "path": path, "number": number if isinstance(number, int) else _UNKNOWN})
        found.sort(key=lambda one: (one["number"], one["name"]), reverse=True)
        return found

    def _remove_old(self) -> None:
        known = [one for one in self._list() if one["number"] != _UNKNOWN]
        for one in known[self.keep :]:
            attempts.remove_folder(one["path"], self.aside.path, "save-removing")

    def _set_aside(self, path: bytes) -> None:
        """Out of the way, so that it is read once and not by each link; the last few stay for people to look at."""
        name = b"%s%s-%s" % (_DAMAGED, os.path.basename(path), disk.make_suffix())
        try:
            os.rename(path, os.path.join(self._folder, name))
            kept = [one for one in os.listdir(self._folder) if one.startswith(_DAMAGED)]
            kept.sort(key=lambda one: os.lstat(os.path.join(self._folder, one)).st_ctime, reverse=True)
        except OSError as error:
            say("{} cannot be set aside: {}".format(disk.as_text(path), describe(error)))
            return
        for one in kept[MOST_DAMAGED:]:
            say("{} is removed: {} damaged checkpoints are kept".format(disk.as_text(one), MOST_DAMAGED))
            attempts.remove_folder(os.path.join(self._folder, one), self.aside.path)


class Save:
    """One checkpoint in the making."""

    def __init__(self, saves: Checkpoints, step: int, all_ranks: bool) -> None:
        self._saves = saves
        self._step = step
        self._all_ranks = all_ranks
        self._made = b""
        self._began = 0.0

    def __enter__(self) -> "Path":
        self._began = time.monotonic()
        saves = self._saves
        name = b"step-%010d" % self._step
        try:
            if self._all_ranks:
                self._made = saves.ranks.meet(name, saves.rank)
            else:
                self._made = saves.ranks.make_private(name, saves.rank)
        except OSError as error:
            raise saves.explain_failure(error, b"", self._step) from error
        pass_point("save-begun")
        path = _as_path(self._made)
        assert path is not None
        return path

    def __exit__(self, kind: "Any", error: "Optional[BaseException]", trace: "Any") -> None:
        problem = error
        try:
            if error is None:
                pass_point("save-written")
            if self._all_ranks:
                self._saves.ranks.leave(self._made, self._saves.rank, self._saves.world_size, error)
            if error is None:
                self._finish()
        except BaseException as met:  # raised below, once the folder aside is gone
            problem = problem or met
        if problem is None:
            return
        told = self._explain(problem)
        if told is problem is not error:
            raise told
        if told is not error:
            raise told from problem

    def _finish(self) -> None:
        if self._saves.rank == 0:
            self._saves.publish(self._made, self._step, self._began)
        elif not self._all_ranks:
            shutil.rmtree(self._made, ignore_errors=True)

    def _explain(self, problem: BaseException) -> BaseException:
        if self._saves.rank == 0 or not self._all_ranks:
            return self._saves.explain_failure(problem, self._made, self._step)
        return self._saves.aside.explain(problem) if isinstance(problem, OSError) else problem


def check_keep(keep: int) -> int:
    """Refused before anything is saved, and not when the first is removed."""
    try:
        number = operator.index(keep)
    except TypeError:
        raise ValueError("keep is {!r}, and not a whole number".format(keep)) from None
    if number < 1:
        raise ValueError("keep is {}, and at least one checkpoint must be kept".format(number))
    return number


def _as_path(path: "Optional[bytes]") -> "Optional[Path]":
    from pathlib import Path  # costs some ms where nobody needs it

    return None if path is None else Path(os.fsdecode(path))


def _load_quietly(path: bytes) -> "Optional[Dict[str, Any]]":
    try:
        return manifest.load(path)
    except OSError:
        return None


def _is_full(folder: bytes) -> bool:
    try:
        seen = os.statvfs(folder)
    except OSError:
        return False
    return seen.f_bavail * seen.f_frsize < NEARLY_FULL
