"""The deputy's store of file contents by their SHA-256: only a cache, because run folders hold copies."""

import os
import time

from windlass_job import disk, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

    from windlass_job.deputy import Answer, Call

_BLOBS = disk.as_path(wire.BLOBS)
_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_KEEP_S = 30 * 24 * 3600
_CLEAN_S = 20.0


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
    blobs, _ = cut_payload(call)
    save_blobs(disk.expand_root(call.arguments["root"]), blobs, call)
    return {}, b""


def cut_payload(call: "Call") -> "Any":
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


def save_blobs(root: bytes, blobs: "Dict[str, Any]", call: "Call") -> None:
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


def check_blobs(root: bytes, files: "List[Dict[str, Any]]", blobs: "Dict[str, Any]", call: "Call") -> None:
    """All that a manifest needs, when one was found wanting: the damaged ones go, to be sent again together."""
    for name in {file["sha256"] for file in files if file.get("sha256")} - set(blobs):
        try:
            _load_blob(root, name)
        except disk.Refused:
            pass
        call.beat()


def get_content(root: bytes, blobs: "Dict[str, Any]", name: str) -> "disk.Buffer":
    """Out of what has just been sent, or out of the store."""
    return blobs[name] if name in blobs else _load_blob(root, name)


def remove_blob(root: bytes, name: str) -> None:
    """One that became part of something else."""
    disk.remove_if_there(_find_blob(root, name))


def remove_old_blobs(root: bytes, beat: "Callable[[], None]") -> None:
    """What nobody asked for in a month, as far as one gets in a moment; what cannot be removed stays."""
    now, deadline = time.time(), time.monotonic() + _CLEAN_S
    try:
        shelves = sorted(os.listdir(os.path.join(root, _BLOBS)))
    except OSError:
        return
    first = os.urandom(1)[0] % (len(shelves) or 1)  # not always the same ones, where there is not time for all
    for shelf in shelves[first:] + shelves[:first]:
        try:
            with os.scandir(os.path.join(root, _BLOBS, shelf)) as entries:
                for entry in entries:
                    if time.monotonic() > deadline:
                        return
                    if entry.is_file(follow_symlinks=False) and now - entry.stat().st_mtime > _KEEP_S:
                        os.unlink(entry.path)
        except OSError:  # removed meanwhile, or not ours
            pass
        beat()


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
