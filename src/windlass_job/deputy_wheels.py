"""The deputy's view of Python wheels: what a wheelhouse holds, what wheels need, and those that the laptop sends."""

import os
import time

from windlass_job import deputy_blobs, disk, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from windlass_job.deputy import Answer, Call

_WHEELS = disk.as_path(wire.WHEELS)
_ENDING = b".whl"
_DEEPEST = 4
_MOST_FILES = 200000
_MOST_FOLDERS = 5000
_LONGEST_S = 60.0
_LARGEST_METADATA = 4 << 20
_NEEDS = b"requires-dist:"


def list_wheels(call: "Call") -> "Answer":
    """Names by folder, as compressed JSON; what cannot be listed in a minute is told as `problem`."""
    import json
    import zlib

    top = disk.expand_root(call.arguments["folder"])
    found = {}  # type: Dict[str, List[str]]
    problem, count, until = None, 0, time.monotonic() + _LONGEST_S
    for folder, names in _walk(top):
        if names:
            found[disk.as_text(folder)] = names
            count += len(names)
        if count > _MOST_FILES or time.monotonic() > until:
            problem = "only the first %d wheels were listed" % count
            break
        call.beat()
    packed = zlib.compress(json.dumps(found).encode("utf-8"))
    return {"count": count, "problem": problem, "folder": disk.as_text(top)}, packed


def read_wheels(call: "Call") -> "Answer":
    """The lines Requires-Dist of each path; None for what is no wheel that can be read."""
    until = time.monotonic() + _LONGEST_S
    told = {}  # type: Dict[str, Optional[List[str]]]
    for path in call.arguments["paths"]:
        if time.monotonic() > until:
            break
        told[path] = _read_needs(disk.as_path(path))
        call.beat()
    return {"needs": told}, b""


def find_wheels(call: "Call") -> "Answer":
    """Which of these are not in ROOT/wheels/ID yet. One that another environment has is linked from there."""
    root = disk.expand_root(call.arguments["root"])
    folder = _find_folder(root, call.arguments["id"])
    missing = []
    for file in call.arguments["files"]:
        path = disk.join_inside(folder, file["name"])
        if _find_size(path) != file["size"] and not _adopt(root, path, file, call):
            missing.append(file["name"])
        call.beat()
    return {"missing": missing, "folder": disk.as_text(folder)}, b""


def lay_wheel(call: "Call") -> "Answer":
    """A wheel out of its pieces, which are blobs; whole and verified, or not there. The pieces go then."""
    import hashlib

    root = disk.expand_root(call.arguments["root"])
    path = disk.join_inside(_find_folder(root, call.arguments["id"]), call.arguments["name"])
    disk.make_folders(os.path.dirname(path))
    aside = path + b"." + disk.make_suffix()
    digest, pieces = hashlib.sha256(), call.arguments["pieces"]
    try:
        with open(aside, "wb", 0) as file:
            for piece in pieces:
                content = memoryview(deputy_blobs.get_content(root, {}, piece))
                digest.update(content)
                while len(content):
                    content = content[file.write(content) :]
                call.beat()
            if digest.hexdigest() != call.arguments["sha256"]:
                raise disk.Refused("failed", "%s did not arrive as it was sent" % call.arguments["name"])
            os.fsync(file.fileno())
        os.rename(aside, path)
    except (OSError, disk.Refused):
        disk.remove_if_there(aside)
        raise
    for piece in pieces:
        deputy_blobs.remove_blob(root, piece)
    return {}, b""


def _walk(top: bytes) -> "Iterator[Tuple[bytes, List[str]]]":
    """Folders with the wheels in them, in order. Links to folders are followed: houses are made of them."""
    waiting, seen = [(top, 0)], 0
    while waiting and seen < _MOST_FOLDERS:
        folder, depth = waiting.pop(0)
        seen += 1
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            if folder == top:
                raise
            continue
        yield folder, [disk.as_text(entry.name) for entry in listed if entry.name.endswith(_ENDING)]
        if depth < _DEEPEST:
            waiting += [
                (entry.path, depth + 1) for entry in listed if not entry.name.endswith(_ENDING) and _is_folder(entry)
            ]


def _is_folder(entry: "Any") -> bool:
    try:
        return bool(entry.is_dir())
    except OSError:
        return False


def _read_needs(path: bytes) -> "Optional[List[str]]":
    import zipfile
    import zlib

    try:
        with disk.open_regular(path) as file, zipfile.ZipFile(file) as wheel:
            names = [one for one in wheel.namelist() if one.count("/") == 1 and one.endswith(".dist-info/METADATA")]
            if not names:
                return None
            with wheel.open(names[0]) as metadata:
                text = metadata.read(_LARGEST_METADATA)
    except (OSError, disk.Refused, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError):
        return None
    return [line[len(_NEEDS) :].decode("utf-8", "replace").strip() for line in _list_headers(text)]


def _list_headers(text: bytes) -> "Iterator[bytes]":
    for line in text.splitlines():
        if not line.strip():  # then comes the description
            return
        if line.lower().startswith(_NEEDS):
            yield line


def _find_folder(root: bytes, env_id: str) -> bytes:
    return disk.join_inside(os.path.join(root, _WHEELS), env_id)


def _find_size(path: bytes) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _adopt(root: bytes, path: bytes, file: "Dict[str, Any]", call: "Call") -> bool:
    """From the folder of another environment, where it lies there with the same content."""
    top, name = os.path.join(root, _WHEELS), os.path.basename(path)
    try:
        others = sorted(os.listdir(top))
    except OSError:
        return False
    for other in others:
        there = os.path.join(top, other, name)
        if there == path or _find_size(there) != file["size"] or _hash(there, call) != file["sha256"]:
            continue
        disk.make_folders(os.path.dirname(path))
        try:
            disk.remove_if_there(path)
            os.link(there, path)
        except OSError:  # a file system without hard links: it is sent
            return False
        return True
    return False


def _hash(path: bytes, call: "Call") -> str:
    import hashlib

    digest = hashlib.sha256()
    try:
        with disk.open_regular(path) as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
                call.beat()
    except (OSError, disk.Refused):
        return ""
    return digest.hexdigest()
