"""Which start of which job may run the training: the one with the greatest claim of the whole run.

A submission that was sent twice by accident, and a node that Slurm gave up too early, both give two jobs that would
train in one folder. A claim is a file of its own, claims/LINK.SUBMISSION.ATTEMPT, made once and never changed. Claims
are ordered by (submission, link, attempt): a later submission was sent on purpose, and Slurm starts a later link, or
a job again, only when it takes the one before for ended. Whoever sees a greater claim than its own is fenced off.

A submission belongs to the job (an array is one) that first asked: claims/SUBMISSION.holder. Of two sent by accident
one trains, with all its links, and the other never.
"""

import os
import re
import time
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from windlass_job import disk, wire

_NAME = re.compile(rb"(\d{1,9})\.(\d{1,9})\.(\d{1,9})\Z")
_STOPPED = b".stopped"
_LATE_S = 20.0  # after its start, for a job's first claim: Slurm waits longer before it gives up a node
_MOST_TRIES = 1000  # others may be faster a few times, never so often

Claim = NamedTuple("Claim", [("submission", int), ("link", int), ("attempt", int)])


def take_claim(folder: str, link: int, owner: Dict[str, Any]) -> Optional[Claim]:
    """Greater than all there are, or None when another job holds the run. May raise OSError.

    `owner` holds "job" and "submission"; "earlier" is how many starts of this link there were before, as far as Slurm
    says; "started" is by Slurm's clock.
    """
    make_folder(_path(folder, wire.CLAIMS))
    if not _hold_submission(folder, owner):
        return None
    taken: Set[Claim] = set()  # a listing may be old: these were there all the same
    for _ in range(_MOST_TRIES):
        found = taken.union(load_claims(folder))
        if any(claim.submission > owner["submission"] for claim in found) or _is_older_start(folder, found, owner):
            return None
        mine = _make_next(found, link, owner)
        try:
            disk.publish(_find_claim(folder, mine), disk.make_json(dict(owner, link=mine.link, attempt=mine.attempt)))
        except FileExistsError:
            taken.add(mine)
            continue
        return mine if find_greater(folder, mine) is None else None
    raise OSError("no claim could be made in {} tries".format(_MOST_TRIES))


def load_claims(folder: str) -> List[Claim]:
    place = _path(folder, wire.CLAIMS)
    refresh_folder(place)
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return []
    numbers = [tuple(map(int, found.groups())) for found in map(_NAME.match, names) if found]
    return [Claim(submission, link, attempt) for link, submission, attempt in numbers]


def refresh_folder(place: bytes) -> None:
    """A folder on a file server may look as it did a minute ago, until we change it."""
    try:
        os.utime(place)
    except OSError:
        pass


def find_greater(folder: str, mine: Claim) -> Optional[Claim]:
    """The one that fences us off: sent again, a later link, or Slurm took this node for dead and started it anew."""
    greatest = max(load_claims(folder), default=mine)
    return greatest if greatest > mine else None


def format_claim(claim: Claim) -> str:
    """As its file is named."""
    return wire.CLAIM.format(link=claim.link, number=claim.submission, attempt=claim.attempt)


def load_owner(folder: str, claim: Claim) -> Dict[str, Any]:
    """What its job wrote into it; nothing where a crash left it empty."""
    return disk.read_json(_find_claim(folder, claim)) or {}


def tell_stopped(folder: str, claim: Claim) -> None:
    """For the one that took over and waits: nothing of this attempt runs any more."""
    disk.replace(_find_claim(folder, claim) + _STOPPED, b"")


def has_stopped(folder: str, claim: Claim) -> bool:
    return os.path.exists(_find_claim(folder, claim) + _STOPPED)


def get_age_s(folder: str, claim: Claim, path: bytes) -> float:
    """How long before the claim this file was written, by the file server's clock: a node's may be off."""
    return os.stat(_find_claim(folder, claim)).st_mtime - os.stat(path).st_mtime


def load_first_and_last_ns(folder: str) -> Optional[Tuple[int, int]]:
    """When the first and the last claim of the run were made, by the file server's clock. May raise OSError."""
    times = [os.stat(_find_claim(folder, claim)).st_mtime_ns for claim in load_claims(folder)]
    return (min(times), max(times)) if times else None


def is_final(folder: str, first_submission: int, job: str) -> bool:
    """True when this chain, whose submissions begin with this one, came to its end: nothing is left to do.

    A job that failed and was started again may go on: Slurm does that when a node failed, and took the command along.
    """
    status = disk.read_json(_path(folder, wire.STATUS))
    if status is None or _number(status) < first_submission:
        return False
    if status.get("state") in (wire.DONE, wire.MOVED, wire.SPENT):
        return True
    return status.get("state") == wire.FAILED and status.get("job") != job


def may_tell_skipped(folder: str, submission: int, job: str) -> bool:
    """False when the status is a verdict, or of a later submission, or when another job has this submission."""
    status = disk.read_json(_path(folder, wire.STATUS)) or {}
    if _number(status) > submission:
        return False
    if _number(status) == submission and status.get("state") in (wire.DONE, wire.FAILED, wire.MOVED, wire.SPENT):
        return False
    held = disk.read_json(_find_holder(folder, submission))
    return held is None or held.get("job") == _base(job)


def has_stop(folder: str, submission: int) -> bool:
    """Told to stop: this submission or, by an empty marker made by hand, every one. A resumed run has a higher one."""
    try:
        with open(_path(folder, wire.STOP), "rb") as file:
            told = file.read(64).strip()
    except FileNotFoundError:
        return False
    return not told.isdigit() or int(told) == 0 or int(told) >= _find_first_meant(folder, submission)


def _find_first_meant(folder: str, submission: int) -> int:
    """A job of ours that submitted the rest anew may have done so just before it was told to stop: both are meant."""
    while True:
        place = _path(folder, wire.SUBMISSIONS, str(submission), wire.INTENT)
        replaced = _number((disk.read_json(place) or {}).get("about") or {}, "replaces")
        if not 0 < replaced < submission:
            return submission
        submission = replaced


def make_folder(path: bytes) -> None:
    """One level only: a run folder that was removed must not come back half."""
    try:
        os.mkdir(path)
    except FileExistsError:
        pass


def _hold_submission(folder: str, owner: Dict[str, Any]) -> bool:
    path = _find_holder(folder, owner["submission"])
    try:
        disk.publish(path, disk.make_json({"job": _base(owner["job"]), "token": owner.get("token")}))
        return True
    except FileExistsError:
        held = disk.read_json(path)
    # A damaged one holds nothing: a run that never goes on is worse than one that runs twice.
    return held is None or held.get("job") == _base(owner["job"])


def _make_next(found: "Set[Claim]", link: int, owner: Dict[str, Any]) -> Claim:
    """A link that Slurm starts again after a later one has run goes on as that later one."""
    ours = [claim for claim in found if claim.submission == owner["submission"]]
    link = max([link] + [claim.link for claim in ours])
    used = max((claim.attempt for claim in ours if claim.link == link), default=0)
    # An earlier start may run without a claim, because its disk hung: it takes itself for the attempt of its number.
    return Claim(owner["submission"], link, max(used, owner.get("earlier", 0)) + 1)


def _is_older_start(folder: str, found: "Set[Claim]", owner: Dict[str, Any]) -> bool:
    """Our disk hung so long that Slurm has meanwhile started another: by its own clock, never by a node's.

    Asked only of one that comes late: a controller's clock that was set back must not end a chain.
    """
    ours = [claim for claim in found if claim.submission == owner["submission"]]
    started = owner.get("started", 0)
    if not ours or not started or time.time() < started + _LATE_S:
        return False
    return bool(_number(load_owner(folder, max(ours)), "started") > started)


def _base(job: str) -> str:
    """The array of a task 45_1."""
    return job.partition("_")[0]


def _find_claim(folder: str, claim: Claim) -> bytes:
    return _path(folder, wire.CLAIMS, format_claim(claim))


def _find_holder(folder: str, submission: int) -> bytes:
    return _path(folder, wire.CLAIMS, wire.CLAIM_HOLDER.format(number=submission))


def _path(folder: str, *names: str) -> bytes:
    return os.fsencode(os.path.join(folder, *names))


def _number(record: Dict[str, Any], name: str = "submission") -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0
