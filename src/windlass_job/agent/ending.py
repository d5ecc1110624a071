"""How a link has ended: by its exit code, by whether it was asked to stop, and by what tells that it is finished."""

import os
import re
import signal
import stat
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from windlass_job import claims, disk, wire
from windlass_job.agent.searching import compile_pattern, search_file
from windlass_job.bounded import say

KILLED = (128 + signal.SIGTERM, 128 + signal.SIGKILL)
_ABORTED = (-signal.SIGABRT, 128 + signal.SIGABRT)
# torchrun and srun leave with a code of their own when one of theirs aborts.
_ABORT_WORDS = r"terminate called without an active exception|\(SIGABRT\)|task [\d,-]+: Aborted"

_Evidence = NamedTuple(
    "_Evidence",
    [
        # The file and the pattern that mean "done", False also where they could not be read: None where none was named.
        ("is_named", Optional[bool]),
        ("is_told", bool),  # by run.done()
        ("is_complete", bool),  # run.progress() came to its end
        ("is_stopping", bool),  # run.should_stop() answered yes: the training leaves by itself
        ("is_aborted", bool),  # at its exit, as DDP on gloo does when all is done
    ],
)


class Evidence(_Evidence):
    @property
    def is_finished(self) -> bool:
        return self.is_told or (self.is_complete if self.is_named is None else self.is_named)


NO_EVIDENCE = Evidence(None, False, False, False, False)

_Sign = NamedTuple("_Sign", [("changed_ns", int), ("size", int), ("inode", int)])


class Witness:
    """Knows where to look for what tells that the training is finished. Made when the link starts."""

    def __init__(
        self, folder: Optional[str], job: str, done_file: Optional[str], done_pattern: Optional[str], limit_s: float
    ) -> None:
        """limit_s: for one search through what was printed."""
        self._folder = folder
        self._log = _find_log(folder, job)
        self._start = _get_size(self._log)
        self._limit_s = limit_s
        self._file = os.fsencode(os.path.abspath(done_file)) if done_file else None
        self._is_file_known = False
        self._file_before: Optional[_Sign] = None
        self._starts_ns: Optional[Tuple[int, int]] = None
        self._pattern = done_pattern or None

    @property
    def is_named(self) -> bool:
        """Whether a file or a pattern means "done"."""
        return self._file is not None or self._pattern is not None

    def find_trouble(self) -> Optional[str]:
        """Why the pattern can never be found here, known before the command starts."""
        if self._pattern is None:
            return None
        try:
            compile_pattern(self._pattern)
        except (re.error, OverflowError, RecursionError) as error:
            # An older Python knows less of regular expressions than the laptop's.
            return "the pattern that means done cannot be read here: " + str(error)
        return None if self._start is not None else "the output is no file that could be searched for what means done"

    def begin_link(self) -> None:
        """When the claim is made and the command has not begun. May raise OSError."""
        if self._file is not None:
            self._file_before = _get_sign(self._file)
            self._starts_ns = claims.load_first_and_last_ns(self._folder) if self._folder else None
            self._is_file_known = True

    def load_progress(self) -> Dict[str, Any]:
        """What run.progress() told last, whoever told it: plain values, for nothing else can be copied safely."""
        if self._folder is None:
            return {}
        told = disk.read_json(os.fsencode(os.path.join(self._folder, wire.PROGRESS))) or {}
        return {name: value for name, value in told.items() if not isinstance(value, (dict, list))}

    def load_evidence(self, ours: Dict[str, int], code: int) -> Evidence:
        """May raise OSError, and take as long as a long log takes to be read. `code` as subprocess has it.

        ours: the numbers of this try; what an earlier one told says nothing about it.
        """
        told = self.load_progress()
        if any(told.get(name, number) != number for name, number in ours.items()):
            told = {}
        found = Evidence(
            is_named=self._look_for_named(),
            is_told=told.get("finished") is True,
            is_complete=_is_complete(told),
            is_stopping=told.get("stopping") is True,
            is_aborted=code in _ABORTED,
        )
        if code > 0 and found.is_finished and not found.is_aborted:
            return Evidence(*found._replace(is_aborted=bool(self._search(_ABORT_WORDS))))
        return found

    def _look_for_named(self) -> Optional[bool]:
        """What cannot be read is not there: a chain that goes on too long does less harm than one too short."""
        answers: List[Optional[bool]] = []
        if self._file is not None:
            answers.append(self._is_file_of_run(self._file))
        if self._pattern is not None:
            answers.append(self._search(self._pattern))
        return all(answers) if answers else None

    def _is_file_of_run(self, path: bytes) -> bool:
        """One that was there before the run says nothing about it; one that an earlier link made does."""
        found = _get_sign(path)
        if found is None or not self._is_file_known:
            return False
        if found != self._file_before:
            return True
        return self._starts_ns is not None and self._starts_ns[0] <= found.changed_ns < self._starts_ns[1]

    def _search(self, pattern: str) -> Optional[bool]:
        """In what this link printed; None where nobody can read it again, or it takes too long."""
        if self._start is None:
            return None
        found = search_file(self._log, self._start, pattern, self._limit_s)
        if found is None:
            say("what the command printed could not be searched within {:g} s".format(self._limit_s))
        return found


def judge(exit_code: int, evidence: Evidence, asked_by: Optional[str], *, is_cancelled: bool = False) -> str:
    """The outcome. asked_by: "notice", "budget" or "cancel" where the command was asked to stop."""
    if evidence.is_finished and (exit_code == 0 or asked_by or evidence.is_aborted):
        return wire.DONE
    if asked_by:
        return {"notice": wire.CUT, "budget": wire.SPENT}.get(asked_by, wire.TERMINATED)
    if exit_code == 0:
        return wire.CUT if evidence.is_named is False or evidence.is_stopping else wire.DONE
    return wire.TERMINATED if is_cancelled else wire.FAILED


def _is_complete(told: Dict[str, Any]) -> bool:
    done, of = told.get("done"), told.get("of")
    return isinstance(done, (int, float)) and isinstance(of, (int, float)) and 0 < of <= done


def _find_log(folder: Optional[str], job: str) -> bytes:
    """Where our own output goes, whatever its name is now."""
    ours = b"/proc/self/fd/1"
    if _get_size(ours) is not None or folder is None:
        return ours
    return os.fsencode(os.path.join(folder, wire.LOGS, job + ".out"))


def _get_sign(path: bytes) -> Optional[_Sign]:
    """By which a file that was made anew or written to is known; None when it is not there."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _Sign(found.st_mtime_ns, found.st_size, found.st_ino)


def _get_size(path: bytes) -> Optional[int]:
    """None for what is no file: a pipe or a terminal cannot be read again."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
