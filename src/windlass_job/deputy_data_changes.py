"""The deputy's hand in the site's data sets: named, removed, and opened to others. All of it can be asked twice."""

import os
import re
import stat
import time

from windlass_job import disk, wire
from windlass_job.deputy_data import (
    CARD,
    DATA,
    NO_CARD,
    POINTER,
    check_name,
    find_set,
    is_packed,
    load_card,
    name_group,
)
from windlass_job.deputy_folders import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

    from windlass_job.deputy import Answer, Call

    Change = Dict[str, Any]

_SHARED = b".shared"  # ROOT/data/.shared/NAME.json: how modes and groups were before
_TRASH = b".trash-"
_MOST_TOLD = 20
_INDEX = b"WLINDEX1"
_SHARD = re.compile(rb"shard-\d+\.(tar|idx)$")
# Of packing, sending and fetching, and what a kill left of them.
_OURS = re.compile(rb"\.(sending(-over-.*)?|packing|windlass-parts|shard-\d+\.(tar|idx)\..*|dataset\.json\..*)$")
_FRESH_S = 15 * 60
_READ = {"group": 0o040, "all": 0o044}
_ENTER = {"group": 0o050, "all": 0o055}
_PASS = {"group": 0o010, "all": 0o011}


def register_set(call: "Call") -> "Answer":
    """A name for what lies elsewhere: a packed data set, a folder or a file."""
    root, name = disk.expand_root(call.arguments["root"]), check_name(call.arguments["name"])
    target = disk.expand_root(call.arguments["path"])
    os.stat(target)
    folder = os.path.join(root, DATA)
    if os.path.isdir(os.path.join(folder, disk.as_path(name))):
        raise disk.Refused("exists", "%s lies in %s itself" % (name, disk.as_text(folder)))
    pointer = os.path.join(folder, disk.as_path(name) + POINTER)
    known = disk.read_json(pointer) if os.path.lexists(pointer) else None
    if known is not None and known.get("path") != disk.as_text(target) and not call.arguments.get("replace"):
        raise disk.Refused("exists", "%s is the name of %s already" % (name, known.get("path")))
    disk.make_folders(folder)
    about = {"path": disk.as_text(target), "registered": time.time()}  # type: Dict[str, Any]
    if call.arguments.get("description"):
        about["description"] = call.arguments["description"]
    disk.replace(pointer, disk.make_json(about))
    return {"path": disk.as_text(target), "has_card": is_packed(target)}, b""


def unregister_set(call: "Call") -> "Answer":
    """The pointer goes, what it points to stays."""
    root, name = disk.expand_root(call.arguments["root"]), check_name(call.arguments["name"])
    pointer = os.path.join(root, DATA, disk.as_path(name) + POINTER)
    told = disk.read_json(pointer) or {}
    os.unlink(pointer)
    return {"path": told.get("path")}, b""


def remove_set(call: "Call") -> "Answer":
    """Renamed away first, so that nobody sees a part of it; then removed. What is not the set's stays, and is told.

    With `apply` False it is only looked at.
    """
    root, name = disk.expand_root(call.arguments["root"]), check_name(call.arguments["name"])
    folder = os.path.join(root, DATA)
    path = os.path.join(folder, disk.as_path(name))
    if os.path.islink(path) or not os.path.isdir(path):
        raise disk.Refused("not-found", "%s is no folder" % disk.as_text(path))
    ours, others = sort_files(path)
    if others and not ours:
        raise disk.Refused("failed", "nothing in %s is a data set's" % disk.as_text(path))
    answer = {"path": disk.as_text(path), "kept": [disk.as_text(one) for one in others[:_MOST_TOLD]]}
    if not call.arguments.get("apply", True):
        return dict(answer, count=len(others)), b""
    _remove_leftovers(folder, call)
    trash = os.path.join(folder, _TRASH + os.path.basename(path) + b"-" + disk.make_suffix())
    if others:
        os.mkdir(trash)
        for one in sorted(ours, key=lambda one: one != CARD):  # without its card it is none
            os.rename(os.path.join(path, one), os.path.join(trash, one))
    else:
        os.rename(path, trash)
    disk.remove_if_there(os.path.join(folder, _SHARED, disk.as_path(name) + b".json"))
    remove_tree(trash, call.beat)
    return dict(answer, count=len(others)), b""


def sort_files(path: bytes) -> "Tuple[List[bytes], List[bytes]]":
    """What of a folder is the data set's, and what is not, as `shards/card.py` tells them apart."""
    ours, others = [], []  # type: List[bytes], List[bytes]
    named = _list_named(path)
    for name in sorted(os.listdir(path)):
        stem = os.path.splitext(name)[0]
        is_ours = name in named or _OURS.match(name) or (_SHARD.match(name) and _is_index(path, stem + b".idx"))
        (ours if is_ours else others).append(name)
    if CARD in others and any(_SHARD.match(one) for one in ours):  # a damaged card
        others.remove(CARD)
        ours.append(CARD)
    return ours, others


def _list_named(path: bytes) -> "Set[bytes]":
    try:
        shards = [disk.as_path(str(one["name"])) for one in load_card(path)["shards"]]
    except NO_CARD:
        return set()
    return {CARD}.union(shards, (os.path.splitext(one)[0] + b".idx" for one in shards))


def _is_index(folder: bytes, name: bytes) -> bool:
    try:
        with disk.open_regular(os.path.join(folder, name)) as file:
            return file.read(len(_INDEX)) == _INDEX
    except (OSError, disk.Refused):
        return False


def find_users(call: "Call") -> "Answer":
    """Runs whose plan names this data set, with the last word of their agents."""
    root = disk.expand_root(call.arguments["root"])
    return {"runs": list(_iterate_users(root, call.arguments["name"], call.arguments["path"], call.beat))}, b""


def list_running(root: bytes, name: str, path: str) -> "List[str]":
    """The runs that read it at this moment, as far as their agents say."""
    return [one["run_id"] for one in _iterate_users(root, name, path, lambda: None) if one["is_running"]]


def _iterate_users(root: bytes, name: str, path: str, beat: "Callable[[], None]") -> "Iterator[Dict[str, Any]]":
    wanted, place = "set:" + name, _find_real(path)
    runs = os.path.join(root, disk.as_path(wire.RUNS))
    try:
        names = sorted(os.listdir(runs))
    except OSError:
        names = []
    for run in names:
        beat()
        if run.startswith(b"."):
            continue
        plan = disk.read_regular_json(os.path.join(runs, run, disk.as_path(wire.PLAN_JSON))) or {}
        if _reads(plan.get("data"), wanted, place):
            yield {"run_id": disk.as_text(run), "is_running": _is_running(os.path.join(runs, run))}


def share_set(call: "Call") -> "Answer":
    """Group and modes of a data set: what would change, and with `apply` it is changed. `with_whom`: group or all.

    Folders get the setgid bit, so that what is added later belongs to the group too. Folders above it, up to ROOT,
    only let people pass.
    """
    root, name = disk.expand_root(call.arguments["root"]), check_name(call.arguments["name"])
    path, _ = find_set(root, name)
    real = os.path.realpath(path) if os.path.islink(path) else path  # a link's own modes say nothing
    record = os.path.join(root, DATA, _SHARED, disk.as_path(name) + b".json")
    if call.arguments.get("undo"):
        changes = _plan_undo(record)
    else:
        gid = _find_group(call.arguments.get("group"))
        changes = _plan_sharing(real, _list_above(root, path), gid, call.arguments["with_whom"])
    blocked = _find_blocked(path, root, call.arguments)
    if real != path:
        blocked += [one for one in _find_blocked(real, root, call.arguments) if one not in blocked]
    answer = {"changes": changes[:500], "count": len(changes), "blocked": blocked}
    if call.arguments.get("apply"):
        if not call.arguments.get("undo"):
            _keep_record(record, changes)
        for change in changes:
            _apply(change)
            call.beat()
        if call.arguments.get("undo"):
            disk.remove_if_there(record)
    return answer, b""


def _plan_sharing(path: bytes, above: "List[bytes]", gid: "Optional[int]", with_whom: str) -> "List[Change]":
    changes = []
    for folder in above:
        found = os.stat(folder)
        changes.append(_make_change(folder, found, found.st_mode | _PASS[with_whom], gid))
    for one in _walk(path):
        found = os.lstat(one)
        if stat.S_ISDIR(found.st_mode):
            changes.append(_make_change(one, found, found.st_mode | _ENTER[with_whom] | stat.S_ISGID, gid))
        elif stat.S_ISREG(found.st_mode):
            changes.append(_make_change(one, found, found.st_mode | _READ[with_whom], gid))
    return [one for one in changes if one["mode"] != one["old_mode"] or one["gid"] != one["old_gid"]]


def _make_change(path: bytes, found: os.stat_result, mode: int, gid: "Optional[int]") -> "Change":
    return {
        "path": disk.as_text(path),
        "old_mode": found.st_mode & 0o7777,
        "mode": mode & 0o7777,
        "old_gid": found.st_gid,
        "gid": found.st_gid if gid is None else gid,
        "old_group": name_group(found.st_gid),
        "group": name_group(found.st_gid if gid is None else gid),
    }


def _plan_undo(record: bytes) -> "List[Change]":
    """Back to what was there before; folders above only when no other data set is shared through them."""
    kept = disk.read_json(record)
    if kept is None:
        raise disk.Refused("not-found", "nothing is known of it having been shared")
    others = [one for one in os.listdir(os.path.dirname(record)) if one != os.path.basename(record)]
    changes = []
    for one in kept["changes"]:
        path = disk.as_path(one["path"])
        if (others and one["is_above"]) or not os.path.lexists(path):
            continue
        changes.append(_make_change(path, os.lstat(path), one["old_mode"], one["old_gid"]))
    return [one for one in changes if one["mode"] != one["old_mode"] or one["gid"] != one["old_gid"]]


def _keep_record(record: bytes, changes: "List[Change]") -> None:
    """Before anything is changed; what an earlier sharing noted of a file is what it was at first."""
    disk.make_folders(os.path.dirname(record))
    kept = (disk.read_json(record) or {}).get("changes") or []
    known = {one["path"] for one in kept}
    data = os.path.dirname(os.path.dirname(record))
    above = (disk.as_text(data), disk.as_text(os.path.dirname(data)))
    for one in changes:
        if one["path"] not in known:
            was = {name: one[name] for name in ("path", "old_mode", "old_gid")}
            kept.append(dict(was, is_above=one["path"] in above))
    disk.replace(record, disk.make_json({"changes": kept}))


def _apply(change: "Change") -> None:
    path = disk.as_path(change["path"])
    if change["gid"] != change["old_gid"]:
        os.chown(path, -1, change["gid"])
    os.chmod(path, change["mode"])  # after chown, which takes the setgid bit away


def _find_blocked(path: bytes, root: bytes, arguments: "Dict[str, Any]") -> "List[str]":
    """Folders above ROOT, or above what a pointer names, that keep the others out and are not for us to open."""
    need = _PASS.get(arguments.get("with_whom") or "", 0)
    above = set(_list_above(root, path))
    blocked = []
    while path not in (b"/", b""):
        path = os.path.dirname(path)
        if path not in above and os.stat(path).st_mode & need != need and not os.stat(path).st_mode & 1:
            blocked.append(disk.as_text(path))
    return blocked


def _list_above(root: bytes, path: bytes) -> "List[bytes]":
    """ROOT and ROOT/data, where the data set lies in them."""
    return [one for one in (root, os.path.join(root, DATA)) if path.startswith(os.path.join(one, b""))]


def _walk(path: bytes) -> "List[bytes]":
    found = [path]
    for one in found:  # grows as they are found
        if os.path.isdir(one) and not os.path.islink(one):
            found.extend(os.path.join(one, name) for name in sorted(os.listdir(one)))
    return found


def _find_group(name: "Optional[str]") -> "Optional[int]":
    import grp

    if name is None:
        return None
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise disk.Refused("not-found", "there is no group %s here" % name)


def _reads(value: "Any", wanted: str, place: "Optional[bytes]") -> bool:
    """By its name, or by a path that is this place, lies in it or around it."""
    left = [value]  # no function that calls itself: somebody's plan may be deeper than those may go
    while left:
        one = left.pop()
        if isinstance(one, str) and (one == wanted or _overlap(place, _find_real(one))):
            return True
        if isinstance(one, (dict, list)):
            left.extend(one.values() if isinstance(one, dict) else one)
    return False


def _overlap(one: "Optional[bytes]", other: "Optional[bytes]") -> bool:
    return one is not None and other is not None and (one.startswith(other) or other.startswith(one))


def _find_real(text: str) -> "Optional[bytes]":
    """With a slash at its end. A plan keeps the variables of its run file: two texts may mean one path."""
    try:
        path = disk.expand_root(text)
        return os.path.join(os.path.realpath(path), b"")
    except (disk.Refused, ValueError):  # no absolute path, or none at all
        return None


def _is_running(folder: bytes) -> bool:
    """By the agent's own word, not too old: the laptop that asks may know nothing of this run."""
    path = os.path.join(folder, disk.as_path(wire.STATUS))
    status = disk.read_regular_json(path) or {}
    try:
        return status.get("state") == wire.RUNNING and time.time() - os.stat(path).st_mtime < _FRESH_S
    except OSError:
        return False


def _remove_leftovers(folder: bytes, call: "Call") -> None:
    """Of a deputy that was killed while it removed one."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.startswith(_TRASH):
            remove_tree(os.path.join(folder, name), call.beat)
