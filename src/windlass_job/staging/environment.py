"""The agent's part in a packed environment: whether it can be used, where the nodes hold it, how the command enters it.

The job script has entered the shared folder. Where every node has unpacked its own, the folder's path is replaced in
all variables of the command; else nothing is, and the command imports from the shared folder as it would without us.
"""

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional

from windlass_job import disk, wire
from windlass_job.relocating import VERSION, replace_in_value
from windlass_job.staging import choosing
from windlass_job.staging.choosing import MEMORY, NODE, tell_free, tell_size
from windlass_job.staging.laying import ENVIRONMENT, ENVIRONMENT_NAME
from windlass_job.staging.sources import NotThere

Packed = NamedTuple("Packed", [("path", str), ("card", Dict[str, Any])])


def look_at_packed(path: str) -> Packed:
    """May raise NotThere and OSError, and hang with the file system."""
    folder = os.path.dirname(os.fsencode(path))
    card = disk.read_json(os.path.join(folder, os.fsencode(wire.PACKED_CARD)))
    if card is None or not os.path.isfile(os.fsencode(path)):
        raise NotThere("it is not packed")
    if card.get("version") != VERSION:
        raise NotThere("it was packed by another version of Windlass")
    current = os.path.realpath(os.path.join(folder, os.fsencode(wire.ENV_CURRENT)))
    if disk.as_path(card["path"]) != current:
        raise NotThere("it was built anew since it was packed")
    size = os.stat(os.fsencode(path)).st_size
    if size != card["bytes"]:
        raise NotThere("{} has {} bytes instead of {}".format(path, size, card["bytes"]))
    return Packed(path, card)


def choose_place(packed: Packed, room: choosing.Room) -> str:
    """A disk before memory: libraries on a disk leave memory when it gets short. May raise NotThere."""
    need = int(packed.card["unpacked"])
    told = "unpacked it needs {}".format(tell_size(need))
    problems = []
    if room.node_root is None or room.is_node_for_data_only:
        problems.append("the nodes have no disk of their own on which programs may run")
    elif choosing.has_disk(room, need):
        return NODE
    else:
        problems.append("{} has {}".format(room.node_root, tell_free(room.node_free, room.node_taken)))
    left = room.memory_left
    if not room.is_memory_for_data_only and left is not None:
        if choosing.has_memory(room, need):
            return MEMORY
        problems.append("of the job's memory {}".format(tell_free(left, room.memory_taken, "are left")))
    raise NotThere("{}; {}".format(told, ", and ".join(problems)))


def describe_for_nodes(packed: Packed, place: str) -> Dict[str, Any]:
    return {
        "name": ENVIRONMENT_NAME,
        "kind": ENVIRONMENT,
        "source": packed.path,
        "place": place,
        "extract": False,
        "bytes": packed.card["bytes"],
        "crc32": packed.card["crc32"],
    }


def enter(env: Dict[str, str], packed: Packed, folder: str) -> None:
    """Whatever the job script's activation has set now leads to the node's own folder."""
    prefixes = [str(one) for one in packed.card["prefixes"]]
    env.update({name: replace_in_value(value, prefixes, folder) for name, value in env.items() if "/" in value})


def find_wanted(env: Mapping[str, str]) -> Optional[str]:
    return env.get(wire.ENV_PACKED) or None
