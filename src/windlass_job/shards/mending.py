"""What of a data set that is there must be packed again, because its bytes are not those that were packed."""

from windlass_job.shards.claiming import ANEW
from windlass_job.shards.verifying import verify
from windlass_job.shards.writing import PackFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, FrozenSet


def find_damaged(folder: bytes, progress: "Callable[[int, int], None]") -> "FrozenSet[bytes]":
    """Names of files. What concerns a whole shard cannot be mended file by file, and is raised."""
    damages = [one for one in verify(folder, progress) if not one.is_dead]
    whole = [one for one in damages if one.name is None]
    if whole:
        words = "the data set that is there is damaged, and cannot be added to: "
        raise PackFailed(words + whole[0].make_line(), option=ANEW)
    return frozenset(one.name for one in damages if one.name is not None)
