"""What of a data set that is there must be packed again, because its bytes are not those that were packed."""

from windlass_job.shards.claiming import ANEW
from windlass_job.shards.verifying import verify
from windlass_job.shards.writing import PackFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, FrozenSet


def find_damaged(folder: bytes, progress: "Callable[[int, int], None]") -> "FrozenSet[str]":
    """Names of shards, also where only files are damaged that nobody means any more: no tool could tell.

    A shard that does not say what is in it cannot be packed again by itself, and is raised.
    """
    damages = verify(folder, progress)
    whole = [one for one in damages if one.name is None]
    if whole:
        words = "the data set that is there is damaged, and cannot be added to: "
        raise PackFailed(words + whole[0].make_line(), option=ANEW)
    return frozenset(one.shard for one in damages)
