"""How a link has ended: by its exit code, by whether it was asked to stop, and by what tells that it is finished."""

import os
import re
import signal
import stat
from typing import Any, Dict, List, NamedTuple, Optional, Pattern

from windlass_job import disk, wire

KILLED = (128 + signal.SIGTERM, 128 + signal.SIGKILL)
_ABORTED = (-signal.SIGABRT, 128 + signal.SIGABRT)
# torchrun and srun leave with a code of their own when one of theirs aborts.
_ABORT_WORDS = re.compile(r"terminate called without an active exception|\(SIGABRT\)|task [\d,-]+: Aborted")
_PIECE = 1 << 20
_OVERLAP = 1 << 14  # the longest line that a pattern can match where two pieces meet

_Evidence = NamedTuple(
    "_Evidence",
    [
        ("is_named", Optional[bool]),  # the file and the pattern that mean "done": None where none was named
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


class Witness:
    """Knows where to look for what tells that the training is finished. Made when the link starts."""

    def __init__(self, folder: Optional[str], job: str, done_file: Optional[str], done_pattern: Optional[str]) -> None:
        """May raise re.error: an older Python knows less of regular expressions than the laptop's."""
        self._folder = folder
        self._log = _find_log(folder, job)
        self._start = _get_size(self._log)
        self._file = os.fsencode(os.path.abspath(done_file)) if done_file else None
        self._pattern = re.compile(done_pattern, re.MULTILINE) if done_pattern else None

    def load_progress(self) -> Dict[str, Any]:
        """What run.progress() told last, whoever told it."""
        if self._folder is None:
            return {}
        return disk.read_json(os.fsencode(os.path.join(self._folder, wire.PROGRESS))) or {}

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
        answers: List[Optional[bool]] = []
        if self._file is not None:
            answers.append(os.path.exists(self._file))
        if self._pattern is not None:
            answers.append(self._search(self._pattern))
        known = [answer for answer in answers if answer is not None]
        return all(known) if known else None

    def _search(self, pattern: "Pattern[str]") -> Optional[bool]:
        """In what this link printed; None where nobody can read it again."""
        if self._start is None:
            return None
        with open(os.open(self._log, os.O_RDONLY | os.O_NONBLOCK), "rb", 0) as log:
            log.seek(self._start)
            kept = b""
            while True:
                piece = log.read(_PIECE)
                if not piece:
                    return False
                kept += piece
                if pattern.search(kept.decode("utf-8", "replace")):  # what a training prints need not be text
                    return True
                kept = kept[-_OVERLAP:]


def judge(exit_code: int, evidence: Evidence, asked_by: Optional[str], *, is_cancelled: bool = False) -> str:
    """The outcome. asked_by: "notice" or "cancel" where the command was asked to stop."""
    if evidence.is_finished and (exit_code == 0 or asked_by or evidence.is_aborted):
        return wire.DONE
    if asked_by:
        return wire.CUT if asked_by == "notice" else wire.TERMINATED
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


def _get_size(path: bytes) -> Optional[int]:
    """None for what is no file: a pipe or a terminal cannot be read again."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
