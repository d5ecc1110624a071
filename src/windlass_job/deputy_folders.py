"""The deputy's hand in run folders: made whole or not at all, and removed."""

import os
import time

from windlass_job import disk, wire
from windlass_job.deputy_blobs import check_blobs, cut_payload, get_content, remove_old_blobs, save_blobs
from windlass_job.deputy_farm import forget_pieces, lay_farm
from windlass_job.faults import pass_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

    from windlass_job.deputy import Answer, Call

_RUNS = disk.as_path(wire.RUNS)
_RUN_JSON = disk.as_path(wire.RUN_JSON)
_NEW = b".new-"
_TRASH = b".trash-"
_KEEP_LEFTOVERS_S = 24 * 3600
_FOLDERS = tuple(disk.as_path(name) for name in (wire.CODE, wire.LOGS, wire.GAUGES, wire.CLAIMS, wire.SUBMISSIONS))


def prepare_run(call: "Call") -> "Answer":
    arguments = call.arguments
    root = disk.expand_root(arguments["root"])
    final = disk.join_inside(os.path.join(root, _RUNS), _check_name(arguments["run_id"]))
    blobs, files = cut_payload(call)
    if os.path.lexists(final):
        return _answer_existing(final, files), b""
    save_blobs(root, blobs, call)
    pass_point("after-blobs")
    runs = os.path.dirname(final)
    os.makedirs(runs, exist_ok=True)
    _remove_leftovers(runs, call.beat)
    new = os.path.join(runs, _NEW + os.path.basename(final) + b"-" + disk.make_suffix())
    try:
        try:
            _build_folder(new, root, blobs, files, call)
        except disk.Refused as error:
            if error.kind == "missing-blob":
                check_blobs(root, arguments["manifest"]["files"], blobs, call)
            raise
        pass_point("before-rename")
        try:
            os.rename(new, final)
        except OSError:
            if not os.path.lexists(final):
                raise
            return _answer_existing(final, files), b""  # another deputy was faster
    finally:
        remove_tree(new, call.beat)
    pass_point("after-rename")
    disk.flush(runs)
    if arguments.get("farm"):
        forget_pieces(root, arguments["farm"])
    return {"existed": False, "folder": disk.as_text(final)}, b""


def remove_run(call: "Call") -> "Answer":
    root = disk.expand_root(call.arguments["root"])
    folder = find_run(root, call.arguments["run_id"])
    if os.path.islink(folder):
        raise disk.Refused("not-found", "%s is a link" % disk.as_text(folder))
    runs, name = os.path.split(folder)
    trash = os.path.join(runs, _TRASH + name + b"-" + disk.make_suffix())
    os.rename(folder, trash)
    remove_tree(trash, call.beat)
    remove_old_blobs(root, call.beat)
    return {}, b""


def find_run(root: bytes, run_id: str) -> bytes:
    folder = disk.join_inside(os.path.join(root, _RUNS), _check_name(run_id))
    if not os.path.isfile(os.path.join(folder, _RUN_JSON)):
        raise disk.Refused("not-found", "%s is no run folder" % disk.as_text(folder))
    return folder


def _answer_existing(final: bytes, files: "List[Any]") -> "Dict[str, Any]":
    sent = next((bytes(content) for file, content in files if file["path"] == wire.RUN_JSON), None)
    try:
        same = disk.read_bytes(os.path.join(final, _RUN_JSON)) == sent
    except OSError:
        same = False
    if not same:
        raise disk.Refused("exists", "%s is there already and is another run" % disk.as_text(final))
    return {"existed": True, "folder": disk.as_text(final)}


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
        disk.write_new(path, get_content(root, blobs, file["sha256"]), file.get("mode") or 0o644)
        written.append(path)
        call.beat()
    for file, content in files:
        path = disk.join_inside(new, file["path"])
        _make_parents(path, folders)
        disk.write_new(path, content, file.get("mode") or 0o644)
        written.append(path)
    if call.arguments.get("secrets_of"):
        written += _copy_secrets(find_run(root, call.arguments["secrets_of"]), new)
    if call.arguments.get("farm"):
        lay_farm(new, root, blobs, call.arguments["farm"], call)
    for target, path in links:  # last, so that nothing was written through one
        os.symlink(target, path)
    # Flushed in a second pass: by now the system has begun to write them all.
    disk.flush_all(written + sorted(folders), call.beat)


def _copy_secrets(source: bytes, new: bytes) -> "List[bytes]":
    """Of another run of the same user, whose secrets the laptop need not know again."""
    path = os.path.join(new, disk.as_path(wire.SECRETS))
    try:
        content = disk.read_bytes(os.path.join(source, disk.as_path(wire.SECRETS)))
    except FileNotFoundError:
        return []
    disk.write_new(path, content, 0o600)
    return [path]


def _make_parents(path: bytes, known: "Any") -> None:
    missing = []
    while os.path.dirname(path) not in known:
        path = os.path.dirname(path)
        missing.append(path)
    for folder in reversed(missing):
        os.mkdir(folder)
        known.add(folder)


def _check_name(name: str) -> str:
    if "/" in name or name.startswith(".") or not name:
        raise disk.Refused("failed", "%r is no run id" % name)
    return name


def _remove_leftovers(runs: bytes, beat: "Callable[[], None]") -> None:
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
            remove_tree(path, beat)


def remove_tree(path: bytes, beat: "Callable[[], None]") -> None:
    """As much of it as can be, also when the laptop has gone meanwhile: a million files take many minutes."""
    if os.path.islink(path) or not os.path.isdir(path):
        _attempt(os.unlink, path)
        return
    folders = [path]
    for folder in folders:  # grows as they are found: each comes after the one it lies in
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            entries = []
        for entry in entries:
            _attempt(beat)
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                _attempt(os.unlink, entry.path)
    for folder in reversed(folders):
        _attempt(beat)
        _attempt(os.rmdir, folder)


def _attempt(action: "Callable[..., None]", *arguments: bytes) -> None:
    try:
        action(*arguments)
    except OSError:
        pass
