"""Folders of this node for a job: where there is room, whose they are, and what dead jobs of ours have left.

Each is ROOT/windlass-UID/RUN.JOB.ATTEMPT, for its owner only. The keeper holds a lock in it as long as it lives.
"""

import fcntl
import os
import re
import shutil
import stat
from typing import Any, Dict, List, Mapping, Optional

from windlass_job import cgroups, disk, slurm

MEMORY = "/dev/shm"
IN_MEMORY = ("tmpfs", "ramfs", "rootfs")
_TIMES = 3
_LOCK = b".lock"
_OWNER = b".owner.json"


def list_roots(scratch: str, env: Mapping[str, str], is_pretended: bool) -> List[str]:
    """Where a disk of the node's own may be, the best first. `scratch` as the site's file writes it."""
    if is_pretended:  # all nodes are this machine, and only this folder is seen from each of them
        return [env["SLURM_TMPDIR"]] if env.get("SLURM_TMPDIR") else []
    found = [_fill_in(scratch, env), env.get("SLURM_TMPDIR", ""), env.get("TMPDIR", ""), "/tmp"]
    return list(dict.fromkeys(path for path in found if path.startswith("/") and "$" not in path))


def _fill_in(text: str, env: Mapping[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda match: env.get(match.group(1), match.group()), text)


def look_at(root: str) -> "Optional[Dict[str, Any]]":
    """Free bytes, whether it is memory, and whether programs may not run there; None where nothing can be written."""
    try:
        if not os.path.isdir(root) or not os.access(root, os.W_OK | os.X_OK):
            return None
        found = os.statvfs(root)
    except OSError:
        return None
    seen = {"path": root, "free": found.f_bavail * found.f_frsize, "is_memory": _find_kind(root) in IN_MEMORY}
    return dict(seen, no_programs=True) if found.f_flag & getattr(os, "ST_NOEXEC", 0) else seen


def _find_kind(path: str) -> str:
    """Of the file system: that of the longest mount point above it."""
    best, kind = "", ""
    real = os.path.realpath(path)
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                words = line.split(" ")
                point = words[1].replace("\\040", " ")
                inside = real == point or real.startswith(point.rstrip("/") + "/")
                if inside and len(point) >= len(best):
                    best, kind = point, words[2]
    except (OSError, IndexError):
        return ""
    return kind


def load_memory_left(env: Mapping[str, str]) -> Optional[int]:
    """Bytes that the job may still use on this node: by its control group, by what it asked for, by what there is."""
    usage = cgroups.load_usage()
    used = usage.get("memory_anonymous_mb") or 0.0
    limits = [usage.get("memory_limit_mb"), float(slurm.read_number(env, "SLURM_MEM_PER_NODE", 0)) or None]
    known = [limit - used for limit in limits if limit]
    known += [available for available in [_load_available_mb()] if available is not None]
    return int(min(known) * cgroups.MB) if known else None


def _load_available_mb() -> Optional[float]:
    try:
        with open("/proc/meminfo") as file:
            found = re.search(r"^MemAvailable:\s+(\d+) kB", file.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found.group(1)) / 1024 if found else None


class Place:
    """A folder of this job on this node. May raise OSError."""

    def __init__(self, root: str, tag: str, about: "Dict[str, Any]") -> None:
        self.folder = make_path(root, tag)
        parent = os.path.dirname(self.folder)
        for path in (parent, self.folder):
            _make_private(path)
        self._lock = os.open(os.path.join(self.folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        disk.replace(os.path.join(self.folder, _OWNER), disk.make_json(about), 0o600)

    def remove(self) -> None:
        remove_folder(self.folder)
        os.close(self._lock)


def make_path(root: str, tag: str) -> bytes:
    return os.path.join(os.fsencode(root), b"windlass-%d" % os.getuid(), os.fsencode(tag))


def _make_private(path: bytes) -> None:
    """/tmp is everybody's: a folder, or link, that somebody else has put there is not used."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError("{} belongs to somebody else".format(disk.as_text(path)))
        os.chmod(path, 0o700)


def remove_folder(folder: bytes) -> None:
    """That of a job, and the one above it where it was the last."""
    for _ in range(_TIMES):  # somebody may still be writing
        remove_tree(folder)
        if not os.path.exists(folder):
            break
    try:
        os.rmdir(os.path.dirname(folder))
    except OSError:
        pass  # another job of ours is on this node


def remove_tree(path: bytes) -> None:
    """All that can be removed; a training may have closed a folder to itself."""

    def open_up(function: Any, failed: Any, _: Any) -> None:
        try:
            os.chmod(os.path.dirname(failed), 0o700)
            function(failed)
        except OSError:
            pass

    shutil.rmtree(path, onerror=open_up)


def find_leftovers(root: str, tag: str) -> "Dict[bytes, Dict[str, Any]]":
    """Folders of jobs of ours that are no more on this node, each with what it tells about itself."""
    parent = os.path.dirname(make_path(root, tag))
    found = {}
    try:
        names = os.listdir(parent)
    except OSError:
        return {}
    for name in names:
        folder = os.path.join(parent, name)
        about = _load_about(folder)
        if name != os.fsencode(tag) and about is not None and not _is_alive(folder, about):
            found[folder] = about
    return found


def _load_about(folder: bytes) -> "Optional[Dict[str, Any]]":
    try:
        return disk.read_json(os.path.join(folder, _OWNER)) if os.lstat(folder).st_uid == os.getuid() else None
    except OSError:
        return None


def _is_alive(folder: bytes, about: "Dict[str, Any]") -> bool:
    """Its keeper holds the lock, or some process of the job is still here: it may read what lies there."""
    try:
        handle = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return _has_processes(str(about.get("job") or ""))


def _has_processes(job: str) -> bool:
    wanted = b"\0SLURM_JOB_ID=" + os.fsencode(job) + b"\0"
    for name in os.listdir("/proc") if job else ():
        try:
            if (
                name.isdigit()
                and wanted in b"\0" + disk.read_bytes(os.fsencode("/proc/{}/environ".format(name))) + b"\0"
            ):
                return True
        except OSError:
            continue  # somebody else's, or gone
    return False
