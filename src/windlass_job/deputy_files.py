"""The deputy's view of files: read, write, list and hash them, and tell about the host they lie on."""

import os
import re
import stat

from windlass_job import disk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

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
        "groups": _get_groups(),
        "architecture": os.uname()[4],
        "glibc": _get_glibc(),
        "inside_job": os.environ.get("SLURM_JOB_ID") or os.environ.get("SLURM_JOBID"),
    }
    if call.arguments.get("root"):
        values.update(_get_root_facts(call.arguments["root"]))
    return values, b""


def read(call: "Call") -> "Answer":
    """A negative from_byte counts from the end: -1000 are the last thousand bytes."""
    limit = call.arguments.get("limit")
    start = int(call.arguments.get("from_byte") or 0)
    with disk.open_regular(disk.as_path(call.arguments["path"])) as file:
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
        disk.make_folders(os.path.dirname(path))
        disk.replace(path, view[at : at + file["bytes"]], file.get("mode") or 0o644)
        at += file["bytes"]
    return {}, b""


def list_files(call: "Call") -> "Answer":
    """Regular files and links that match a pattern, with paths relative to the folder.

    A link is named and not followed: `link` is its way, `inside` whether that stays in the folder wherever it lies.
    """
    folder = disk.as_path(call.arguments["folder"])
    real = os.path.realpath(folder)
    limit = int(call.arguments.get("limit") or 100000)
    match = _compile(call.arguments["patterns"])
    files: "List[Dict[str, Any]]" = []
    for entry, relative in _walk(folder):
        if not match(disk.as_text(relative)):
            continue
        if len(files) >= limit:
            return {"files": files, "truncated": True}, b""
        described = _describe(entry, relative, real)
        if described:
            files.append(described)
        call.beat()
    return {"files": files, "truncated": False}, b""


def hash_files(call: "Call") -> "Answer":
    """None for what is no regular file. sizes: only so many bytes of each, because a log grows; None if shorter."""
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


def _get_groups() -> "List[str]":
    import grp

    names = []
    for gid in sorted({os.getgid(), *os.getgroups()}):
        try:
            names.append(grp.getgrgid(gid).gr_name)
        except KeyError:
            pass
    return names


def _get_glibc() -> "Optional[str]":
    """As in `glibc 2.36`; None where the C library is another."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        return None
    return version if name == "glibc" else None


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
        "free_files": space.f_favail if space.f_files else None,  # some file systems do not count them
    }


def _compile(patterns: "List[str]") -> "Any":
    for pattern in patterns:
        try:
            re.compile(make_regex(pattern))
        except (re.error, OverflowError, RecursionError) as error:
            raise disk.Refused("failed", "the pattern %s cannot be used: %s" % (pattern, error)) from None
    return re.compile("|".join(make_regex(pattern) for pattern in patterns)).match


def _walk(folder: bytes) -> "Iterator[Any]":
    """(entry, relative path) of all that is no folder, in order; not by recursion, however deep it goes."""
    waiting = [(iter(_scan(folder)), b"")]
    while waiting:
        entries, above = waiting[-1]
        entry = next(entries, None)
        if entry is None:
            waiting.pop()
            continue
        path = os.path.join(above, entry.name)
        if not entry.is_dir(follow_symlinks=False):
            yield entry, path
            continue
        try:
            waiting.append((iter(_scan(entry.path)), path))
        except (FileNotFoundError, PermissionError):  # gone meanwhile, or not ours
            continue


def _scan(folder: bytes) -> "List[Any]":
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _describe(entry: "Any", relative: bytes, top: bytes) -> "Optional[Dict[str, Any]]":
    """None for a pipe, a socket or a device, and for what is gone."""
    link, inside = None, None
    try:
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            link, inside = _read_link(entry.path, relative, top)
        elif not stat.S_ISREG(found.st_mode):
            return None
    except FileNotFoundError:
        return None
    described = {
        "path": disk.as_text(relative),
        "size": found.st_size,
        "mtime": found.st_mtime,
        "mode": found.st_mode & 0o777,
        "link": None if link is None else disk.as_text(link),
    }
    return described if inside is None else dict(described, inside=inside)


def _read_link(path: bytes, relative: bytes, top: bytes) -> "Tuple[bytes, bool]":
    """Where it leads, and whether that is inside; an absolute way inside is told as a relative one."""
    target, real = os.readlink(path), os.path.realpath(path)
    if real != top and not real.startswith(os.path.join(top, b"")):
        return target, False
    if os.path.isabs(target):
        return os.path.relpath(real, os.path.dirname(os.path.join(top, relative))), True
    lexical = os.path.normpath(os.path.join(os.path.dirname(relative), target))
    return target, lexical != b".." and not lexical.startswith(b"../")


def _hash_file(path: bytes, size: "Optional[int]", call: "Call") -> "Optional[str]":
    import hashlib

    digest, done = hashlib.sha256(), 0
    try:
        with disk.open_regular(path) as file:
            while size is None or done < size:
                block = file.read(_BLOCK if size is None else min(_BLOCK, size - done))
                if not block:
                    break
                digest.update(block)
                done += len(block)
                call.beat()
    except (FileNotFoundError, NotADirectoryError, disk.Refused):
        return None
    return digest.hexdigest() if size is None or done == size else None
