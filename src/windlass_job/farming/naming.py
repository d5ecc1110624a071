"""Names of workers: RUN.SUBMISSION.LINK.ATTEMPT.NODE.START. Later ones of the same run sort behind earlier ones."""

import os
from typing import Callable, List, Mapping, Tuple

from windlass_job import disk, slurm, wire
from windlass_job.farming.journal import Journal

_MOST_STARTS = 100000


def make_name(env: Mapping[str, str]) -> str:
    """Without its last part."""
    link, attempt = slurm.read_number(env, wire.ENV_LINK, 1), slurm.read_number(env, wire.ENV_ATTEMPT, 1)
    number = slurm.read_number(env, wire.ENV_NUMBER, 1)
    node = slurm.read_number(env, "SLURM_NODEID", 0)
    return "{}.{:03}.{:04}.{:02}.{:04}".format(env.get(wire.ENV_RUN_ID) or "pilot", number, link, attempt, node)


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
    run = _read(mine)[0]
    return lambda name: _read(name)[0] == run


def is_older(mine: str) -> "Callable[[str], bool]":
    """Whether a worker is of an earlier start of the same run: the agent's fence has seen to its end."""
    return lambda name: _is_older(_read(name), _read(mine))


def is_newer(mine: str) -> "Callable[[str], bool]":
    return lambda name: _is_older(_read(mine), _read(name))


Parts = Tuple[str, List[str], List[str]]


def _is_older(one: Parts, other: Parts) -> bool:
    if one[0] != other[0]:
        return False
    is_same_place = one[1] == other[1] and one[2][:1] == other[2][:1]
    return one[1] < other[1] or (is_same_place and one[2] < other[2])


def _read(name: str) -> Parts:
    """The run; submission, link and attempt; node and start."""
    words = name.rsplit(".", 5)
    return words[0], words[1:4], words[4:]
