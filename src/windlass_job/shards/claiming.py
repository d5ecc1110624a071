"""Whether a folder is ours to pack into, and what of a data set there may go: nobody's files are replaced unasked."""

import os

from windlass_job import disk
from windlass_job.shards.card import find_gap, is_packed, is_shard, list_others
from windlass_job.shards.writing import PackFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import AbstractSet, Any, Callable, Optional, Sequence

    from windlass_job.shards.folder import Folder

    Readers = Callable[[], Sequence[str]]

ANEW = "--anew"
_FETCHING = b".windlass-parts"  # a data set that is being fetched into it
_MOST_LOST = 0.5
_SHOWN = 3


class InUse(PackFailed):
    """Shards that would go are being read."""


def find_objection(folder: bytes) -> "Optional[str]":
    """Why nothing is packed into this folder, in words; None where it may be: new, empty, or a data set of ours."""
    if not os.path.lexists(folder):
        return None
    if not os.path.isdir(folder):
        return "{} is there and is no folder".format(disk.as_text(folder))
    others = list_others(folder)
    if is_packed(folder):  # notes beside a data set are left alone; archives that look like its own are in the way
        others = [name for name in others if name.startswith(b"shard-")]
    elif os.path.isdir(os.path.join(folder, _FETCHING)):
        return "{} holds a data set that is being fetched".format(disk.as_text(folder))
    if not others:
        return None
    shown = ", ".join(disk.as_text(name) for name in others[:_SHOWN]) + (", …" if len(others) > _SHOWN else "")
    return "{} is there already, with files that Windlass did not make ({})".format(disk.as_text(folder), shown)


def check_outside(folder: bytes, source: bytes) -> None:
    below = os.path.join(os.path.realpath(source), b"")
    if os.path.join(os.path.realpath(folder), b"").startswith(below):
        raise PackFailed(
            "{} lies in {}, so its shards would be packed into themselves".format(
                disk.as_text(folder), disk.as_text(source)
            )
        )


def check_before(folder: bytes, before: "Folder", is_replaced: bool, readers: "Readers") -> None:
    """Before anything is read. is_replaced: all its shards go, because all is packed again."""
    if is_replaced:
        check_readers(before.card.name, readers)
        return
    gap = find_gap(folder, before.card)
    if gap is not None:
        raise PackFailed("the data set that is there is not whole, and cannot be added to: " + gap, option=ANEW)


def check_readers(name: str, readers: "Readers") -> None:
    found = list(readers())
    if found:
        raise InUse("{} is read by {}, and what it reads would be removed".format(name, ", ".join(found)))


def check_loss(before: "Folder", source: "Any", lost_files: int) -> None:
    """Most of a data set that came from elsewhere is not replaced by mistake."""
    card, ours = before.card, disk.as_text(source.path)
    theirs = card.about.get("source")
    if theirs in (None, ours) or lost_files <= card.files * _MOST_LOST:
        return
    raise PackFailed(
        "{} came from {}, and {} of its {} files would be replaced or removed by those of {}".format(
            disk.as_text(before.path), theirs, lost_files, card.files, ours
        ),
        option=ANEW,
    )


def list_strays(folder: bytes, named: "AbstractSet[str]", leftovers: "Any") -> "Sequence[bytes]":
    """What of ours no card names any more, archives before their indexes: an archive alone is not known for ours."""
    found = [name for name in os.listdir(folder) if disk.as_text(name) not in named]
    parts = [name for name in found if leftovers.match(disk.as_text(name))]
    return parts + sorted((name for name in found if is_shard(folder, name)), key=lambda one: one.endswith(b".idx"))
