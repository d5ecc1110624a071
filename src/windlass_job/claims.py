"""Which job may run a link: the first that made a claim for it, or the same job started again.

A submission that was sent twice by accident, and a node that Slurm gave up too early, both give two jobs for one link.
A claim is a file of its own, claims/LINK.SUBMISSION.ATTEMPT, made once and never changed: of many jobs at once, one
makes it. A later submission was sent on purpose, so the highest claim of a link is the one that counts.
"""

import itertools
import os
import re
from typing import Any, Dict, Optional

from windlass_job import disk, wire

_NAME = re.compile(rb"(\d+)\.(\d+)\.(\d+)\Z")


def take_claim(folder: str, link: int, claim: Dict[str, Any]) -> Optional[int]:
    """The number of this attempt, or None when another job holds the link. May raise OSError.

    `claim` holds "job", "token" and "submission".
    """
    make_folder(_path(folder, wire.CLAIMS))
    for attempt in itertools.count(1):
        path = _find_claim(folder, link, claim["submission"], attempt)
        try:
            disk.publish(path, disk.make_json(dict(claim, attempt=attempt)))
            break
        except FileExistsError:
            held = disk.read_json(path)
        # A damaged one holds nothing: a link that never runs is worse than one that runs twice.
        if held is not None and held.get("job") != claim["job"]:
            return None
    return None if is_superseded(folder, link, claim["submission"], attempt) else attempt


def is_superseded(folder: str, link: int, submission: int, attempt: int) -> bool:
    """True when the link was submitted again, or Slurm took this node for dead and started it again elsewhere."""
    place = _path(folder, wire.CLAIMS)
    try:
        os.utime(place)  # a folder on a file server may look as it did a minute ago, until we change it
    except OSError:
        pass
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return False
    claims = [tuple(map(int, found.groups())) for found in map(_NAME.match, names) if found]
    return any(claim[0] == link and claim[1:] > (submission, attempt) for claim in claims)


def is_final(folder: str, submission: int, job: str) -> bool:
    """True when this same submission came to its end: nothing is left to do.

    A job that failed and was started again may go on: Slurm does that when a node failed, and took the command along.
    """
    status = disk.read_json(_path(folder, wire.STATUS))
    if status is None or _number(status) != submission:
        return False
    return status.get("state") == wire.DONE or (status.get("state") == wire.FAILED and status.get("job") != job)


def may_tell_skipped(folder: str, link: int, submission: int, job: str) -> bool:
    """False when the status is a verdict, or of a later submission, or of another job that has this link."""
    status = disk.read_json(_path(folder, wire.STATUS)) or {}
    if _number(status) > submission:
        return False
    if _number(status) == submission and status.get("state") in (wire.DONE, wire.FAILED):
        return False
    held = disk.read_json(_find_claim(folder, link, submission, 1))
    return held is None or held.get("job") == job


def has_stop(folder: str, submission: int) -> bool:
    """Told to stop: this submission or, by an empty marker made by hand, every one. A resumed run has a higher one."""
    try:
        with open(_path(folder, wire.STOP), "rb") as file:
            told = file.read(64).strip()
    except FileNotFoundError:
        return False
    return not told.isdigit() or int(told) == 0 or int(told) >= submission


def make_folder(path: bytes) -> None:
    """One level only: a run folder that was removed must not come back half."""
    try:
        os.mkdir(path)
    except FileExistsError:
        pass


def _find_claim(folder: str, link: int, submission: int, attempt: int) -> bytes:
    return _path(folder, wire.CLAIMS, wire.CLAIM.format(link=link, number=submission, attempt=attempt))


def _path(folder: str, *names: str) -> bytes:
    return os.fsencode(os.path.join(folder, *names))


def _number(record: Dict[str, Any], name: str = "submission") -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0
