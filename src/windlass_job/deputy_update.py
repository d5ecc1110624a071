"""The deputy puts new code over the files of a run that is resumed; what the run itself wrote there stays."""

import os

from windlass_job import disk, wire
from windlass_job.deputy_blobs import check_blobs, cut_payload, get_content, save_blobs
from windlass_job.deputy_folders import find_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from windlass_job.deputy import Answer, Call

_CODE = disk.as_path(wire.CODE)


def update_code(call: "Call") -> "Answer":
    """Each file and link whole or not at all; nothing is removed. `files` go beside the code, as in `prepare_run`."""
    root = disk.expand_root(call.arguments["root"])
    folder = find_run(root, call.arguments["run_id"])
    blobs, papers = cut_payload(call)
    manifest = call.arguments["manifest"]
    code = os.path.join(folder, _CODE)
    targets = [(disk.join_inside(code, file["path"]), file) for file in manifest["files"]]
    beside = [(disk.join_inside(folder, file["path"]), file, content) for file, content in papers]
    _check_targets(code, [path for path, _ in targets])
    _check_targets(folder, [path for path, _, _ in beside])
    save_blobs(root, blobs, call)
    changed = []
    # Links last, so that nothing is written through a new one.
    for path, file in sorted(targets, key=lambda target: target[1].get("link") is not None):
        try:
            if _update(path, file, root, blobs):
                changed.append(file["path"])
        except disk.Refused as error:
            if error.kind == "missing-blob":
                check_blobs(root, manifest["files"], blobs, call)
            raise
        call.beat()
    for path, file, content in beside:
        _make_parents(path)
        disk.replace(path, content, file.get("mode") or 0o644)
    if not any(file["path"] == wire.MANIFEST for file, _ in papers):
        disk.replace(os.path.join(folder, disk.as_path(wire.MANIFEST)), disk.make_json(manifest))
    return {"changed": changed}, b""


def _check_targets(folder: bytes, paths: "List[bytes]") -> None:
    """Before anything is written: a link in the middle of a path must not lead out of the folder."""
    top = os.path.realpath(folder)
    for parent in sorted({os.path.dirname(path) for path in paths}):
        real = os.path.realpath(parent)
        if real != top and not real.startswith(top + b"/"):
            where = (disk.as_text(parent), disk.as_text(real))
            raise disk.Refused("failed", "%s leads out of the run, to %s, by a link: move it away first" % where)
    for path in paths:
        if os.path.isdir(path) and not os.path.islink(path):
            raise disk.Refused("failed", "%s is a folder at the site: move it away first" % disk.as_text(path))


def _update(path: bytes, file: "Dict[str, Any]", root: bytes, blobs: "Dict[str, Any]") -> bool:
    """True when it was not so before."""
    if file.get("link") is not None:
        target = disk.as_path(file["link"])
        if os.path.islink(path) and os.readlink(path) == target:
            return False
        _make_parents(path)
        disk.replace_link(path, target)
        return True
    content, mode = get_content(root, blobs, file["sha256"]), file.get("mode") or 0o644
    if _is_same(path, content, mode):
        return False
    _make_parents(path)
    disk.replace(path, content, mode)
    return True


def _is_same(path: bytes, content: "disk.Buffer", mode: int) -> bool:
    """Of the mode only whether it may be run: the rest depends on the umask."""
    try:
        found = os.lstat(path)
        if os.path.islink(path) or (found.st_mode ^ mode) & 0o100 or found.st_size != len(content):
            return False
        return disk.read_bytes(path) == bytes(content)
    except OSError:
        return False


def _make_parents(path: bytes) -> None:
    disk.make_folders(os.path.dirname(path))
