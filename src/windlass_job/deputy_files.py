"""The deputy's view of files: read, write, list and hash them, and tell about the host they lie on."""

import os
import re

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional

    from windlass_job.deputy import Answer, Call

_READ_LIMIT = 16 << 20
_BLOCK = 1 << 20


def get_facts(call: "Call") -> "Answer":
    import pwd
    import sys
    import time

    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = os.environ.get("USER", str(uid))
    umask = os.umask(0o077)
    os.umask(umask)
    values: "Dict[str, Any]" = {
        "user": user,
        "uid": uid,
        "home": disk.as_text(os.path.expanduser(b"~")),
        "host": os.uname()[1],
        "umask": umask,
        "time": time.time(),
        "python_version": "%d.%d.%d" % sys.version_info[:3],
    }
    if call.arguments.get("root"):
        values.update(_get_root_facts(call.arguments["root"]))
    return values, b""


def read(call: "Call") -> "Answer":
    """A negative from_byte counts from the end: -1000 are the last thousand bytes."""
    limit = call.arguments.get("limit")
    start = int(call.arguments.get("from_byte") or 0)
    with open(disk.as_path(call.arguments["path"]), "rb") as file:
        found = os.fstat(file.fileno())
        start = max(0, found.st_size + start) if start < 0 else start
        file.seek(start)
        content = file.read(_READ_LIMIT if limit is None else int(limit))
    values = {"size": found.st_size, "mtime": found.st_mtime, "inode": found.st_ino, "from_byte": start}
    return values, content


def write(call: "Call") -> "Answer":
    view, at = memoryview(call.payload), 0
    for file in call.arguments["files"]:
        path = disk.as_path(file["path"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        disk.replace(path, view[at : at + file["bytes"]], file.get("mode") or 0o644)
        at += file["bytes"]
    return {}, b""


def list_files(call: "Call") -> "Answer":
    """Paths relative to the folder that match a pattern; links are named, not followed."""
    folder = disk.as_path(call.arguments["folder"])
    limit = int(call.arguments.get("limit") or 100000)
    match = re.compile("|".join(make_regex(pattern) for pattern in call.arguments["patterns"])).match
    files: "List[Dict[str, Any]]" = []
    for entry, relative in _walk(folder, b""):
        if not match(disk.as_text(relative)):
            continue
        if len(files) >= limit:
            return {"files": files, "truncated": True}, b""
        described = _describe(entry, relative)
        if described:
            files.append(described)
        call.beat()
    return {"files": files, "truncated": False}, b""


def hash_files(call: "Call") -> "Answer":
    """None for a file that is not there. sizes: only so many bytes of each, because a log grows; None if shorter."""
    folder = disk.as_path(call.arguments["folder"])
    paths = [disk.join_inside(folder, path) for path in call.arguments["paths"]]
    sizes = call.arguments.get("sizes") or [None] * len(paths)
    if len(sizes) != len(paths):
        raise disk.Refused("failed", "%d paths, but %d sizes" % (len(paths), len(sizes)))
    return {"sha256": [_hash_file(path, sizes[at], call) for at, path in enumerate(paths)]}, b""


def make_regex(pattern: str) -> str:
    """A glob as a regular expression: `*` stays in one folder, `**` crosses folders."""
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = []
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\]|[^*?[]+|\[", pattern):
        if piece in wild:
            parts.append(wild[piece])
        elif piece[0] == "[" and len(piece) > 2:
            negated = piece[1] == "!"
            members = re.sub(r"([\\\[\]^&~|])", r"\\\1", piece[1 + negated : -1])
            parts.append("[" + "^" * negated + members + "]")
        else:
            parts.append(re.escape(piece))
    return "(?:" + "".join(parts) + r")\Z"


def _get_root_facts(text: str) -> "Dict[str, Any]":
    root = disk.expand_root(text)
    there = root
    while not os.path.exists(there):
        there = os.path.dirname(there)
    space = os.statvfs(there)
    return {
        "root": disk.as_text(root),
        "root_writable": os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK),
        "free_mb": space.f_bavail * space.f_frsize >> 20,
    }


def _walk(folder: bytes, relative: bytes) -> "Iterator[Any]":
    with os.scandir(os.path.join(folder, relative) if relative else folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = os.path.join(relative, entry.name)
        if not entry.is_dir(follow_symlinks=False):
            yield entry, path
            continue
        try:
            yield from _walk(folder, path)
        except (FileNotFoundError, PermissionError):  # gone meanwhile, or not ours
            continue


def _describe(entry: "Any", relative: bytes) -> "Optional[Dict[str, Any]]":
    try:
        found = entry.stat(follow_symlinks=False)
        link = disk.as_text(os.readlink(entry.path)) if entry.is_symlink() else None
    except FileNotFoundError:
        return None
    return {
        "path": disk.as_text(relative),
        "size": found.st_size,
        "mtime": found.st_mtime,
        "mode": found.st_mode & 0o777,
        "link": link,
    }


def _hash_file(path: bytes, size: "Optional[int]", call: "Call") -> "Optional[str]":
    import hashlib

    digest, done = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            while size is None or done < size:
                block = file.read(_BLOCK if size is None else min(_BLOCK, size - done))
                if not block:
                    break
                digest.update(block)
                done += len(block)
                call.beat()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    return digest.hexdigest() if size is None or done == size else None
