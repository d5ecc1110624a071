"""Where each data set of a job is read: decided by its size and by what every node has. Values in, values out."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from windlass_job.staging.laying import FILE, FOLDER, PACKED
from windlass_job.staging.sources import Source
from windlass_job.staging.unpacking import is_archive

AUTO, MEMORY, NODE, SHARED = "auto", "memory", "node", "shared"
MEMORY_SHARE = 0.8  # of the memory that is left: the training needs some too
AUTO_MEMORY_SHARE = 0.25
DISK_SHARE = 0.95
UNPACKED = 2.2  # a set and its files, each of which begins a new block
MANY_FILES = 10000

Want = NamedTuple("Want", [("name", str), ("stage", str), ("extract", bool)])

# What all nodes have in common: the room of the poorest counts.
Room = NamedTuple(
    "Room",
    [
        ("node_root", Optional[str]),
        ("node_free", int),
        ("shm_free", int),
        ("memory_left", Optional[int]),
        ("is_node_for_data_only", bool),  # no programs may run there
        ("is_memory_for_data_only", bool),
        ("is_node_in_memory", bool),  # what should be a disk is none
        ("node_taken", int),  # by what was chosen before
        ("memory_taken", int),
    ],
)

Choice = NamedTuple("Choice", [("place", str), ("note", Optional[str])])


class CannotExtract(Exception):
    """The run asks for plain files on the node, and they cannot be there."""


def find_room(reports: List[Dict[str, Any]]) -> Room:
    """The first root that every node has under the same path."""
    root, free, in_memory = _find_root([report["roots"] for report in reports])
    shm = [report["shm"]["free"] if report["shm"] else 0 for report in reports]
    left = [report["memory_left"] for report in reports if report["memory_left"] is not None]
    roots = [one for report in reports for one in report["roots"] if one["path"] == root]
    memories = [report["shm"] or {} for report in reports]
    closed = [any(one.get("no_programs") for one in found) for found in (roots, memories)]
    return Room(root, free, min(shm), min(left) if left else None, closed[0], closed[1], in_memory, 0, 0)


def _find_root(roots: List[List[Dict[str, Any]]]) -> Tuple[Optional[str], int, bool]:
    """Its path, the bytes that are free there, and whether it is memory."""
    for one in roots[0]:
        same = [next((other for other in others if other["path"] == one["path"]), None) for others in roots]
        known = [other for other in same if other is not None]
        if len(known) == len(roots):
            in_memory = any(other["is_memory"] for other in known)
            # Where /tmp is memory it is worth no more than memory.
            return one["path"], 0 if in_memory else min(other["free"] for other in known), in_memory
    return None, 0, False


def choose_all(
    wants: Sequence[Want], sources: Mapping[str, Source], room: Room, limits: Tuple[float, float]
) -> Tuple[List[Tuple[Want, Choice]], Room]:
    """They share the room; what is left of it too. First comes what must be copied, then what the run file says."""
    choices = {}
    for want in sorted(wants, key=lambda one: (not one.extract, one.stage == AUTO)):
        source = sources[want.name]
        choices[want.name] = choice = choose(want, source, room, limits)
        room = _take(room, choice.place, _count_need(want, source))
    return [(want, choices[want.name]) for want in wants], room


def _take(room: Room, place: str, need: int) -> Room:
    if place == NODE:
        return room._replace(node_taken=room.node_taken + need)
    return room._replace(memory_taken=room.memory_taken + need) if place == MEMORY else room


def choose(want: Want, source: Source, room: Room, limits: Tuple[float, float]) -> Choice:
    """limits: up to so many bytes into memory, and onto the node's disk, where the run file leaves it to us."""
    if want.extract and source.kind == FILE and not is_archive(source.path):
        raise CannotExtract("data.{}: {} is no archive that could be extracted".format(want.name, source.path))
    if source.kind == FOLDER:
        want = want._replace(extract=False)  # its files are plain already
    if want.stage == SHARED:
        return Choice(SHARED, None)
    told = _describe(source)
    if want.stage == AUTO:
        choice = _choose_by_size(want, source, room, limits)
    else:
        problem = _find_problem(want.stage, want, source, room)
        choice = Choice(SHARED, problem) if problem else Choice(want.stage, None)
    if want.extract and choice.place == SHARED:
        free = "memory only" if room.is_node_in_memory else tell_free(room.node_free, room.node_taken)
        why = choice.note or "{} is too large for {} on a node".format(told, free)
        raise CannotExtract("data.{} cannot be extracted on the nodes: {}".format(want.name, why))
    if choice.note:
        return Choice(choice.place, "data.{}: {}: it is read where it lies".format(want.name, choice.note))
    if source.kind == FOLDER and choice.place != SHARED:
        advice = "data.{} is a folder of plain files and is copied one by one: packed it would be there at once"
        return Choice(choice.place, advice.format(want.name))
    return choice


def _choose_by_size(want: Want, source: Source, room: Room, limits: Tuple[float, float]) -> Choice:
    if source.bytes is None or (source.kind == FOLDER and (source.files or 0) > MANY_FILES):
        return Choice(SHARED, "a folder of so many files is not copied (`windlass data send` packs it)")
    in_memory, on_node = limits
    need = _count_need(want, source)
    if need <= in_memory and has_memory(room, need):
        return Choice(MEMORY, None)
    if need <= on_node:
        problem = _find_problem(NODE, want, source, room)
        return Choice(SHARED, problem) if problem else Choice(NODE, None)
    return Choice(SHARED, None)


def _find_problem(stage: str, want: Want, source: Source, room: Room) -> Optional[str]:
    need = _count_need(want, source)
    told = _describe(source)
    if stage == NODE:
        if room.node_root is None:
            return "the nodes have no disk of their own that all of them know by the same path"
        if room.is_node_in_memory:
            return '{} of the nodes is memory and no disk (stage = "memory" uses /dev/shm)'.format(room.node_root)
        if not has_disk(room, need):
            words = "{} needs {}, and {} has {}"
            return words.format(told, tell_size(need), room.node_root, tell_free(room.node_free, room.node_taken))
        return None
    taken = room.memory_taken
    if need + taken > room.shm_free:
        return "{} needs {}, and /dev/shm has {}".format(told, tell_size(need), tell_free(room.shm_free, taken))
    if room.memory_left is not None and need + taken > room.memory_left * MEMORY_SHARE:
        words = "{} needs {}, and of the job's memory {}"
        return words.format(told, tell_size(need), tell_free(room.memory_left, taken, "are left"))
    return None


def has_disk(room: Room, need: int) -> bool:
    return need + room.node_taken <= room.node_free * DISK_SHARE


def has_memory(room: Room, need: int) -> bool:
    """So much that we may choose it ourselves. All shares are of the whole room: of what is left they would add up."""
    used, left = need + room.memory_taken, room.memory_left
    return left is not None and used <= left * AUTO_MEMORY_SHARE and used <= room.shm_free


def tell_free(free: int, taken: int, word: str = "free") -> str:
    told = "{} {}".format(tell_size(free), word)
    return "{}, {} of them for other data".format(told, tell_size(taken)) if taken else told


def _count_need(want: Want, source: Source) -> int:
    """Bytes on a node; of what is not known nothing is asked. A folder's files are plain already."""
    if not want.extract or source.kind == FOLDER:
        return source.bytes or 0
    least = int((source.bytes or 0) * UNPACKED)
    return least if source.unpacked is None else max(least, (source.bytes or 0) + source.unpacked)


def _describe(source: Source) -> str:
    words = {PACKED: "a data set", FILE: "a file", FOLDER: "a folder"}
    return (
        words[source.kind] if source.bytes is None else "{} of {}".format(words[source.kind], tell_size(source.bytes))
    )


def tell_size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return "{:.1f} {}".format(count / size, unit)
    return "{:.0f} bytes".format(count)
