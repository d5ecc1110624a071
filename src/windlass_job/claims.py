"""Which job may run a link: the one that created claims/LINK first, or the same job started again.

A submission that was sent twice by accident, and a node that Slurm gave up too early, both give two jobs for one link.
"""

import os
from typing import Any, Dict, Optional

from windlass_job import disk, wire


def take_claim(folder: str, link: int, claim: Dict[str, Any]) -> Optional[int]:
    """The number of this attempt, or None when another job holds the link. May raise OSError.

    `claim` holds "job", "token" and "submission". A later submission was sent on purpose, and supersedes.
    """
    path = _path(folder, wire.CLAIMS, str(link))
    make_folder(os.path.dirname(path))
    try:
        disk.publish(path, disk.make_json(dict(claim, attempt=1)))
        return 1
    except FileExistsError:
        held = disk.read_json(path)
    if held is None:
        attempt = 1  # damaged: nobody holds it, and a link that never runs is worse than one that runs twice
    elif held.get("job") == claim["job"] or _number(held) < _number(claim):
        attempt = _number(held, "attempt") + 1
    else:
        return None
    disk.replace(path, disk.make_json(dict(claim, attempt=attempt)))
    return attempt


def is_superseded(folder: str, link: int, job: str, attempt: int) -> bool:
    """True when Slurm took this node for dead and started the link again elsewhere, while we ran on."""
    held = disk.read_json(_path(folder, wire.CLAIMS, str(link)))
    return held is not None and (held.get("job"), _number(held, "attempt")) != (job, attempt)


def is_final(folder: str, submission: int, job: str) -> bool:
    """True when this same submission came to its end: nothing is left to do.

    A job that failed and was started again may go on: Slurm does that when a node failed, and took the command along.
    """
    status = disk.read_json(_path(folder, wire.STATUS))
    if status is None or _number(status) != submission:
        return False
    return status.get("state") == wire.DONE or (status.get("state") == wire.FAILED and status.get("job") != job)


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


def _path(folder: str, *names: str) -> bytes:
    return os.fsencode(os.path.join(folder, *names))


def _number(record: Dict[str, Any], name: str = "submission") -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0
