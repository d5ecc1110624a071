"""The deputy's view of runs: what lies in their folders, and the marker that stops them."""

import json
import os

from windlass_job import disk, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from windlass_job.deputy import Answer, Call

_RUNS = disk.as_path(wire.RUNS)
_RUN_JSON = disk.as_path(wire.RUN_JSON)
_STATUS = disk.as_path(wire.STATUS)
_PROGRESS = disk.as_path(wire.PROGRESS)
_STOP = disk.as_path(wire.STOP)
_NOTES = disk.as_path(wire.NOTES)
_MOST_NOTES = 64 << 10  # bytes of them
_SUBMISSIONS = disk.as_path(wire.SUBMISSIONS)


def get_statuses(call: "Call") -> "Answer":
    """status.json of many runs, with the newest progress.

    Folders not there any more are named in `gone`, those told to stop in `stops`.
    uid: whose jobs these are, to know who cancelled one.
    """
    folders = call.arguments["folders"]
    statuses = [_load_status(disk.as_path(folder)) for folder in folders]
    gone = [folder for folder in folders if not os.path.isdir(disk.as_path(folder))]
    stops = {folder: stop for folder in folders for stop in _read_stop(disk.as_path(folder))}
    return {"statuses": statuses, "gone": gone, "stops": stops, "uid": os.getuid()}, b""


def _load_status(folder: bytes) -> "Optional[Dict[str, Any]]":
    """The agent's copy of the progress is up to half a minute old: what the same start of the training told since."""
    status = _try_json(os.path.join(folder, _STATUS))
    if status is None or status.get("state") != wire.RUNNING:
        return status
    told = _try_json(os.path.join(folder, _PROGRESS))
    names = ("submission", "link", "attempt")
    if told and all(told.get(name, status.get(name)) == status.get(name) for name in names):
        status["progress"] = {name: value for name, value in told.items() if not isinstance(value, (dict, list))}
    return status


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
    disk.replace(os.path.join(folder, _STOP), b"%d\n" % number)
    return {}, b""


def add_notes(call: "Call") -> "Answer":
    """lines: objects with `t` and `text`. Asked twice, a line stands there twice: readers take it for one."""
    folder = disk.as_path(call.arguments["folder"])
    if not os.path.isdir(folder):
        raise disk.Refused("not-found", "there is no run folder %s" % call.arguments["folder"])
    content = "".join(json.dumps(line) + "\n" for line in call.arguments["lines"]).encode()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(os.path.join(folder, _NOTES), flags, 0o600)
    try:
        while content:
            content = content[os.write(handle, content) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    return {}, b""


def _read_notes(folder: bytes) -> "List[Any]":
    """The last ones; a line that is damaged is passed over."""
    try:
        with disk.open_regular(os.path.join(folder, _NOTES)) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_NOTES))
            lines = file.read(_MOST_NOTES).splitlines()
    except (OSError, disk.Refused):
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line.decode("utf-8")))
        except (ValueError, RecursionError):
            continue
    return found


def _read_stop(folder: bytes) -> "List[int]":
    """The number of the last submission that must not start any more; 0 for every one; none when not told to stop."""
    try:
        told = disk.read_bytes(os.path.join(folder, _STOP)).strip()
    except OSError:
        return []
    return [int(told) if told.isdigit() else 0]


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
        "notes": _read_notes(path),
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
