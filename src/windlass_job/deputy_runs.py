"""The deputy's view of runs: blobs, run folders made whole or not at all, and what lies in them."""

import os
import time

from windlass_job import disk, wire
from windlass_job.faults import pass_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from windlass_job.deputy import Answer, Call

_RUNS = disk.as_path(wire.RUNS)
_BLOBS = disk.as_path(wire.BLOBS)
_RUN_JSON = disk.as_path(wire.RUN_JSON)
_STATUS = disk.as_path(wire.STATUS)
_STOP = disk.as_path(wire.STOP)
_SUBMISSIONS = disk.as_path(wire.SUBMISSIONS)
_NEW = b".new-"
_TRASH = b".trash-"
_KEEP_LEFTOVERS_S = 24 * 3600
_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_FOLDERS = tuple(disk.as_path(name) for name in (wire.CODE, wire.LOGS, wire.GAUGES, wire.CLAIMS, wire.SUBMISSIONS))


def find_missing_blobs(call: "Call") -> "Answer":
    root = disk.expand_root(call.arguments["root"])
    wanted = call.payload.decode("ascii").split()
    missing = []
    for name in wanted:
        path = _find_blob(root, name)
        try:
            os.utime(path)  # a purge by age spares what is still in use
            if not os.path.getsize(path) and name != _EMPTY:
                missing.append(name)
        except FileNotFoundError:
            missing.append(name)
        call.beat()
    return {"missing": len(missing)}, "\n".join(missing).encode("ascii")


def put_blobs(call: "Call") -> "Answer":
    """Contents that a run will need, sent ahead of it."""
    blobs, _ = _cut_payload(call)
    _save_blobs(disk.expand_root(call.arguments["root"]), blobs, call)
    return {}, b""


def prepare_run(call: "Call") -> "Answer":
    arguments = call.arguments
    root = disk.expand_root(arguments["root"])
    final = disk.join_inside(os.path.join(root, _RUNS), _check_name(arguments["run_id"]))
    blobs, files = _cut_payload(call)
    if os.path.lexists(final):
        return _answer_existing(final, files), b""
    _save_blobs(root, blobs, call)
    pass_point("after-blobs")
    runs = os.path.dirname(final)
    os.makedirs(runs, exist_ok=True)
    _remove_leftovers(runs)
    new = os.path.join(runs, _NEW + os.path.basename(final) + b"-" + disk.make_suffix())
    try:
        _build_folder(new, root, blobs, files, call)
        pass_point("before-rename")
        try:
            os.rename(new, final)
        except OSError:
            if not os.path.lexists(final):
                raise
            return _answer_existing(final, files), b""  # another deputy was faster
    finally:
        _remove_tree(new)
    pass_point("after-rename")
    disk.flush(runs)
    return {"existed": False, "folder": disk.as_text(final)}, b""


def update_code(call: "Call") -> "Answer":
    """New contents over the files of a run that is resumed, each whole or not at all; nothing is removed."""
    root = disk.expand_root(call.arguments["root"])
    folder = disk.join_inside(os.path.join(root, _RUNS), _check_name(call.arguments["run_id"]))
    if not os.path.isfile(os.path.join(folder, _RUN_JSON)):
        raise disk.Refused("not-found", "%s is no run folder" % disk.as_text(folder))
    blobs, _ = _cut_payload(call)
    _save_blobs(root, blobs, call)
    code = os.path.join(folder, disk.as_path(wire.CODE))
    changed = []
    for file in call.arguments["manifest"]["files"]:
        if file.get("link") is None and _update_file(disk.join_inside(code, file["path"]), root, blobs, file):
            changed.append(file["path"])
        call.beat()
    disk.replace(os.path.join(folder, disk.as_path(wire.MANIFEST)), disk.make_json(call.arguments["manifest"]))
    return {"changed": changed}, b""


def remove_run(call: "Call") -> "Answer":
    runs = os.path.join(disk.expand_root(call.arguments["root"]), _RUNS)
    folder = disk.join_inside(runs, _check_name(call.arguments["run_id"]))
    if os.path.islink(folder) or not os.path.isfile(os.path.join(folder, _RUN_JSON)):
        raise disk.Refused("not-found", "%s is no run folder" % disk.as_text(folder))
    trash = os.path.join(runs, _TRASH + os.path.basename(folder) + b"-" + disk.make_suffix())
    os.rename(folder, trash)
    _remove_tree(trash)
    return {}, b""


def get_statuses(call: "Call") -> "Answer":
    """status.json of many runs; folders not there any more are named in `gone`, those told to stop in `stops`."""
    folders = call.arguments["folders"]
    statuses = [_try_json(os.path.join(disk.as_path(folder), _STATUS)) for folder in folders]
    gone = [folder for folder in folders if not os.path.isdir(disk.as_path(folder))]
    stops = {folder: stop for folder in folders for stop in _read_stop(disk.as_path(folder))}
    return {"statuses": statuses, "gone": gone, "stops": stops}, b""


def list_runs(call: "Call") -> "Answer":
    runs = os.path.join(disk.expand_root(call.arguments["root"]), _RUNS)
    found = []
    for name in _list_folder(runs):
        path = os.path.join(runs, name)
        if name.startswith(b"."):
            continue
        try:
            found.append((os.stat(os.path.join(path, _RUN_JSON)).st_mtime, path))
        except OSError:  # no run, or removed meanwhile
            continue
        call.beat()
    found.sort(reverse=True)
    limit = int(call.arguments.get("limit") or len(found))
    return {"runs": [_describe_run(path) for _, path in found[:limit]], "total": len(found)}, b""


def touch_stop(call: "Call") -> "Answer":
    folder = disk.as_path(call.arguments["folder"])
    if not os.path.isdir(folder):
        raise disk.Refused("not-found", "there is no run folder %s" % call.arguments["folder"])
    number = int(call.arguments.get("number") or 0)
    disk.replace(os.path.join(folder, disk.as_path(wire.STOP)), b"%d\n" % number)
    return {}, b""


def _read_stop(folder: bytes) -> "List[int]":
    """The number of the last submission that must not start any more; 0 for every one; none when not told to stop."""
    try:
        told = disk.read_bytes(os.path.join(folder, _STOP)).strip()
    except OSError:
        return []
    return [int(told) if told.isdigit() else 0]


def _cut_payload(call: "Call") -> "Any":
    """({hash: content}, [(file, content)]) out of the one payload; verified."""
    import hashlib

    view, at = memoryview(call.payload), 0
    blobs = {}
    for blob in call.arguments.get("blobs") or ():
        content = view[at : at + blob["bytes"]]
        at += blob["bytes"]
        if hashlib.sha256(content).hexdigest() != blob["sha256"]:
            raise disk.Refused("failed", "blob %s did not arrive as it was sent" % blob["sha256"])
        blobs[blob["sha256"]] = content
    files = []
    for file in call.arguments.get("files") or ():
        files.append((file, view[at : at + file["bytes"]]))
        at += file["bytes"]
    if at != len(view):
        raise disk.Refused("failed", "the payload has %d bytes, announced were %d" % (len(view), at))
    return blobs, files


def _answer_existing(final: bytes, files: "List[Any]") -> "Dict[str, Any]":
    sent = next((bytes(content) for file, content in files if file["path"] == wire.RUN_JSON), None)
    try:
        same = disk.read_bytes(os.path.join(final, _RUN_JSON)) == sent
    except OSError:
        same = False
    if not same:
        raise disk.Refused("exists", "%s is there already and is another run" % disk.as_text(final))
    return {"existed": True, "folder": disk.as_text(final)}


def _save_blobs(root: bytes, blobs: "Dict[str, Any]", call: "Call") -> None:
    """Not flushed to disk one by one: a blob that a crash cut short is found by its hash when it is used."""
    for name, content in blobs.items():
        path = _find_blob(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        aside = path + b"." + disk.make_suffix()
        try:
            disk.write_new(aside, content)
            os.rename(aside, path)
        except OSError:
            disk.remove_if_there(aside)
            raise
        call.beat()


def _build_folder(new: bytes, root: bytes, blobs: "Dict[str, Any]", files: "List[Any]", call: "Call") -> None:
    os.mkdir(new)
    folders = {new}
    for name in _FOLDERS:
        os.mkdir(os.path.join(new, name))
        folders.add(os.path.join(new, name))
    written = []
    links = []
    code = os.path.join(new, disk.as_path(wire.CODE))
    for file in call.arguments["manifest"]["files"]:
        path = disk.join_inside(code, file["path"])
        _make_parents(path, folders)
        if file.get("link") is not None:
            links.append((disk.as_path(file["link"]), path))
            continue
        name = file["sha256"]
        content = blobs[name] if name in blobs else _load_blob(root, name)
        disk.write_new(path, content, file.get("mode") or 0o644)
        written.append(path)
        call.beat()
    for file, content in files:
        path = disk.join_inside(new, file["path"])
        _make_parents(path, folders)
        disk.write_new(path, content, file.get("mode") or 0o644)
        written.append(path)
    for target, path in links:  # last, so that nothing was written through one
        os.symlink(target, path)
    # Flushed in a second pass: by now the system has begun to write them all.
    disk.flush_all(written + sorted(folders), call.beat)


def _update_file(path: bytes, root: bytes, blobs: "Dict[str, Any]", file: "Dict[str, Any]") -> bool:
    name = file["sha256"]
    content = blobs[name] if name in blobs else _load_blob(root, name)
    try:
        if not os.path.islink(path) and disk.read_bytes(path) == bytes(content):
            return False
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    disk.replace(path, content, file.get("mode") or 0o644)
    return True


def _make_parents(path: bytes, known: "Any") -> None:
    folder = os.path.dirname(path)
    if folder in known:
        return
    _make_parents(folder, known)
    os.mkdir(folder)
    known.add(folder)


def _load_blob(root: bytes, name: str) -> bytes:
    import hashlib

    path = _find_blob(root, name)
    try:
        content = disk.read_bytes(path)
    except FileNotFoundError:
        raise disk.Refused("missing-blob", "blob %s is not at the site" % name) from None
    if hashlib.sha256(content).hexdigest() != name:
        os.unlink(path)
        raise disk.Refused("missing-blob", "blob %s at the site was damaged and is removed: send it again" % name)
    return content


def _find_blob(root: bytes, name: str) -> bytes:
    if len(name) != 64 or not all(char in "0123456789abcdef" for char in name):
        raise disk.Refused("failed", "%r is no SHA-256" % name)
    return os.path.join(root, _BLOBS, name[:2].encode(), name.encode())


def _check_name(name: str) -> str:
    if "/" in name or name.startswith(".") or not name:
        raise disk.Refused("failed", "%r is no run id" % name)
    return name


def _describe_run(path: bytes) -> "Dict[str, Any]":
    submissions = []
    place = os.path.join(path, _SUBMISSIONS)
    for name in sorted((name for name in _list_folder(place) if name.isdigit()), key=int):
        record: "Dict[str, Any]" = {"number": int(name)}
        for key, file in (("receipt", wire.RECEIPT), ("intent", wire.INTENT)):
            record[key] = _try_json(os.path.join(place, name, disk.as_path(file)))
        submissions.append(record)
    return {
        "folder": disk.as_text(path),
        "run": _try_json(os.path.join(path, _RUN_JSON)),
        "status": _try_json(os.path.join(path, _STATUS)),
        "submissions": submissions,
    }


def _try_json(path: bytes) -> "Optional[Dict[str, Any]]":
    """One run that cannot be read does not hide the others."""
    try:
        return disk.read_json(path)
    except OSError:
        return None


def _list_folder(path: bytes) -> "List[bytes]":
    try:
        return os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remove_leftovers(runs: bytes) -> None:
    """What a killed deputy left: half-made and half-removed folders under names that are no run's.

    And the files that kept a run from being made late: see `submission.close_submission`.
    """
    for name in os.listdir(runs):
        path = os.path.join(runs, name)
        if not name.startswith((_NEW, _TRASH)) and not os.path.isfile(path):
            continue
        try:
            age_s = time.time() - os.lstat(path).st_mtime
        except FileNotFoundError:
            continue
        if age_s > _KEEP_LEFTOVERS_S:
            _remove_tree(path)


def _remove_tree(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        disk.remove_if_there(path)
