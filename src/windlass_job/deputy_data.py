"""The deputy's view of the site's data sets: those under ROOT/data, and those that a pointer there names elsewhere.

Only summaries of cards are told. A card that cannot be read is told as such: it must not hide the other sets.
"""

import os
import re
import stat

from windlass_job import disk, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from windlass_job.deputy import Answer, Call

    Told = Dict[str, Any]

DATA = disk.as_path(wire.DATA)
CARD = b"dataset.json"
POINTER = b".json"
NO_CARD = (OSError, disk.Refused, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_FORMAT = "windlass-shards/1"
_INDEX = re.compile(rb"shard-\d+\.idx$")
_MOST_SETS = 2000
_MOST_SHARDS = 5000  # whose times are looked at: each is a question to a file server
_MOST_CARD = 64 << 20
_LONGEST_TEXT = 300
_ABOUT = ("description", "licence", "source", "made_by", "made_at")


def list_sets(call: "Call") -> "Answer":
    """names: only those. elsewhere: {name: path} that the site file knows; our own of the same name win."""
    root = disk.expand_root(call.arguments["root"])
    wanted = call.arguments.get("names")
    sets = []  # type: List[Told]
    all_names = []  # type: List[str]
    for name, path, pointer in find_sets(root, call.arguments.get("elsewhere") or {}):
        all_names.append(name)
        if (wanted is None or name in wanted) and len(sets) < _MOST_SETS:
            sets.append(_describe(name, path, pointer))
        call.beat()
    # The names of all, so that a slip of the pen can be told from what is not there at all.
    return {"sets": sets, "names": all_names[:_MOST_SETS], "folder": disk.as_text(os.path.join(root, DATA))}, b""


def find_sets(root: bytes, elsewhere: "Dict[str, str]") -> "Iterator[Tuple[str, bytes, Optional[Told]]]":
    """(name, where it lies, its pointer), by name."""
    folder = os.path.join(root, DATA)
    found = {}  # type: Dict[str, Tuple[bytes, Optional[Told]]]
    for name, text in elsewhere.items():
        found[name] = (_expand(text), {"of_the_site": True})
    for entry in _list_folder(folder):
        path = os.path.join(folder, entry)
        if entry.endswith(POINTER) and os.path.isfile(path):
            pointer = disk.read_json(path) or {}
            target = pointer.get("path")
            found[disk.as_text(entry[: -len(POINTER)])] = (_expand(target) if target else path, pointer)
    for entry in _list_folder(folder):
        path = os.path.join(folder, entry)
        if os.path.isdir(path):
            found[disk.as_text(entry)] = (path, None)
    for name in sorted(found):
        yield (name,) + found[name]


def find_set(root: bytes, name: str) -> "Tuple[bytes, Optional[Told]]":
    for one, path, pointer in find_sets(root, {}):
        if one == name:
            return path, pointer
    raise disk.Refused("not-found", "there is no data set %s in %s" % (name, disk.as_text(os.path.join(root, DATA))))


def check_name(name: str) -> str:
    if not wire.is_data_name(name):
        raise disk.Refused("failed", "%r is no name for a data set" % name)
    return name


def _describe(name: str, path: bytes, pointer: "Optional[Told]") -> "Told":
    told = {"name": name, "path": disk.as_text(path), "is_pointer": pointer is not None}  # type: Told
    if pointer is not None:
        told["of_the_site"] = bool(pointer.get("of_the_site"))
        if not told["of_the_site"] and not pointer.get("path"):
            return dict(told, kind="missing", problem="its pointer cannot be read")
    try:
        found = os.stat(path)
    except OSError as error:
        return dict(told, kind="missing", problem=(error.strerror or str(error)).lower())
    except ValueError:  # a path with a byte that no path has
        return dict(told, kind="missing", problem="its pointer cannot be read")
    told.update(_tell_access(path, found))
    if pointer and pointer.get("description"):
        told["about"] = {"description": str(pointer["description"])[:_LONGEST_TEXT]}
    if not stat.S_ISDIR(found.st_mode):
        return dict(told, kind="file", files=1, bytes=found.st_size, oldest_use=max(found.st_atime, found.st_mtime))
    if pointer is not None and not is_packed(path):
        return dict(told, kind="folder")
    if not os.path.lexists(os.path.join(path, CARD)):  # among our own nothing else is meant to lie
        return dict(told, kind="partial", problem="it has no card yet: sending or packing it has not ended")
    given = told.get("about") or {}  # with the name: it says what the card does not
    try:
        card = load_card(path)
        known = dict(_tell_card(card), **_tell_shards(path, card))
    except NO_CARD as error:
        return dict(told, kind="packed", problem="its card cannot be read: %s" % error)
    known["about"].update(given)
    told.update(known)
    return told


def is_packed(path: bytes) -> bool:
    """As `shards/card.py` tells it, with which no deputy is sent: other programs have files of that name too."""
    if not os.path.lexists(os.path.join(path, CARD)):
        return False
    try:
        load_card(path)
    except NO_CARD:
        return any(_INDEX.match(name) for name in _list_folder(path))
    return True


def load_card(path: bytes) -> "Told":
    import json

    with disk.open_regular(os.path.join(path, CARD)) as file:
        card = json.loads(file.read(_MOST_CARD).decode("utf-8"))
    if card["format"] != _FORMAT:
        raise ValueError("its format is %s" % card["format"])
    return dict(card)


def _tell_card(card: "Told") -> "Told":
    about = dict(card["about"])
    shown = {name: str(about[name])[:_LONGEST_TEXT] for name in _ABOUT if about.get(name)}
    return {
        "kind": "packed",
        "files": int(card["files"]),
        "bytes": int(card["bytes"]),
        "shards": len(card["shards"]),
        "archived": sum(int(one["bytes"]) for one in card["shards"]),
        "classes": len(card["classes"]),
        "about": shown,
    }


def _tell_shards(path: bytes, card: "Told") -> "Told":
    """When the file that was used least recently was used: by that centres purge. And what is not there any more."""
    oldest = None
    for one in card["shards"][:_MOST_SHARDS]:
        name = str(one["name"])
        for file in (name, os.path.splitext(name)[0] + ".idx"):
            try:
                found = os.stat(os.path.join(path, disk.as_path(file)))
            except OSError as error:
                return {"oldest_use": oldest, "problem": "%s: %s" % (file, (error.strerror or str(error)).lower())}
            used = max(found.st_atime, found.st_mtime)
            oldest = used if oldest is None else min(oldest, used)
            if file == name and found.st_size != int(one["bytes"]):
                problem = "%s has %d bytes, its card says %d" % (name, found.st_size, int(one["bytes"]))
                return {"oldest_use": oldest, "problem": problem}
    return {"oldest_use": oldest}


def _tell_access(path: bytes, found: os.stat_result) -> "Told":
    owner, group = _name_owner(found.st_uid), name_group(found.st_gid)
    return {"owner": owner, "group": group, "mode": found.st_mode & 0o7777, "readers": _find_readers(path, found)}


def _find_readers(path: bytes, found: os.stat_result) -> str:
    """all, group or owner: every folder on the way must let them pass."""
    need = 5 if stat.S_ISDIR(found.st_mode) else 4
    group, others = (found.st_mode >> 3) & need == need, found.st_mode & need == need
    while path not in (b"/", b""):
        path = os.path.dirname(path)
        try:
            above = os.stat(path)
        except OSError:
            return "owner"
        others = others and bool(above.st_mode & 1)
        group = group and bool(above.st_mode & 1 or (above.st_mode & 0o10 and above.st_gid == found.st_gid))
    return "all" if others else "group" if group else "owner"


def _name_owner(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def name_group(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def _expand(text: str) -> bytes:
    return os.path.expanduser(os.path.expandvars(disk.as_path(str(text))))


def _list_folder(path: bytes) -> "List[bytes]":
    try:
        return sorted(name for name in os.listdir(path) if not name.startswith(b"."))
    except OSError:
        return []
