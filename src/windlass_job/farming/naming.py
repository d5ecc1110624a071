"""Names of workers: RUN.SUBMISSION.LINK.ATTEMPT.NODE.START.

Of a part of a pilot NODE is NODE_WHOLE_PART: of which start of the pilot it is which part.
"""

import os
from typing import Callable, List, Mapping, NamedTuple, Tuple

from windlass_job import disk, slurm, wire
from windlass_job.farming.journal import Journal
from windlass_job.farming.parts import WHOLE, Seat

_MOST_STARTS = 100000


def make_name(env: Mapping[str, str], seat: Seat) -> str:
    """Without its last part."""
    link, attempt = slurm.read_number(env, wire.ENV_LINK, 1), slurm.read_number(env, wire.ENV_ATTEMPT, 1)
    number = slurm.read_number(env, wire.ENV_NUMBER, 1)
    node = "{:04}".format(slurm.read_number(env, "SLURM_NODEID", 0))
    if seat.part != WHOLE:
        node += "_{:02}_{:03}".format(seat.whole, seat.part.number)
    return "{}.{:03}.{:04}.{:02}.{}".format(env.get(wire.ENV_RUN_ID) or "pilot", number, link, attempt, node)


def read_start(name: str) -> int:
    return int(name.rpartition(".")[2])


def open_journal(folder: bytes, stem: str, say: "Callable[[str], None]") -> "Tuple[str, Journal]":
    """The next name that nobody has had: the agent may start a command again, and then this is another worker."""
    disk.make_folders(folder)
    for start in range(1, _MOST_STARTS):
        name = "{}.{:02}".format(stem, start)
        try:
            return name, Journal(os.path.join(folder, disk.as_path(name) + b".rec"), say)
        except FileExistsError:
            pass
    raise OSError("{} was started {} times".format(stem, _MOST_STARTS))


def is_of_run(mine: str) -> "Callable[[str], bool]":
    run = _read(mine).run
    return lambda name: _read(name).run == run


def is_older(mine: str) -> "Callable[[str], bool]":
    """Whether a worker is of an earlier start of the same run: the agent's fence has seen to its end."""
    return lambda name: _is_older(_read(name), _read(mine))


def is_newer(mine: str) -> "Callable[[str], bool]":
    return lambda name: _is_older(_read(mine), _read(name))


# link: submission, link and attempt. whole, part, start: which start of the node's pilot it is, or is a part of; then
# which part, and which start of that.
_Place = NamedTuple(
    "_Place", [("run", str), ("link", List[str]), ("node", str), ("whole", int), ("part", int), ("start", int)]
)


def _is_older(one: _Place, other: _Place) -> bool:
    if one.run != other.run:
        return False
    if one.link != other.link:
        return one.link < other.link
    if one.node != other.node or (one.whole == other.whole and one.part and other.part and one.part != other.part):
        return False  # side by side
    return one[3:] < other[3:]


def _read(name: str) -> _Place:
    run, *words = name.rsplit(".", 5)
    try:
        node, *of = words[3].split("_")
        whole, part, start = (int(word) for word in (of or [words[4], "0"]) + [words[4]])
        return _Place(run, words[:3], node, whole, part, start if of else 0)
    except (IndexError, ValueError):
        return _Place(name, [], "", 0, 0, 0)  # nobody that we have named
