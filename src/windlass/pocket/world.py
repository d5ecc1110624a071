"""Another machine's folders and network around a process: what a rehearsal runs in.

A world is a JSON file: which folders are seen where, what may be written, whether there is a network, which variables
are set. With namespaces of Linux (no root needed) the process sees nothing else; where the kernel forbids them, only
the variables are set, and `windlass rehearse` says so.
"""

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from windlass.pocket import network

_NEW_MOUNTS, _NEW_USER, _NEW_NET = 0x00020000, 0x10000000, 0x40000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE, _NO_SUID = 1, 32, 4096, 16384, 1 << 18, 2
_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR, _AT_RECURSIVE, _ATTR_READ_ONLY, _HERE = 442, 0x8000, 1, -100


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One folder or file of this machine as the world shows it; source "": an empty folder."""

    source: str
    target: str
    may_write: bool = False


@dataclass(frozen=True, kw_only=True)
class World:
    base: str  # an empty folder: the new root is put together there
    is_closed: bool  # False: only the variables are set
    seen: tuple[Seen, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)  # symbolic links, such as /bin -> usr/bin
    has_network: bool = True
    interface: str | None = None  # a network interface that the other machine has
    questions: str | None = None  # a file: the host names that somebody asked for
    variables: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    pocket: str = ""  # where pocket's state lies inside


def save_world(path: Path, world: World) -> None:
    path.write_text(json.dumps(asdict(world), indent=1), encoding="utf-8")


def load_world(path: Path) -> World:
    raw = json.loads(path.read_text(encoding="utf-8"))
    return World(**{**raw, "seen": tuple(Seen(**one) for one in raw["seen"]), "unset": tuple(raw["unset"])})


def is_possible(*, without_network: bool) -> bool:
    """Try it in a child: namespaces, mounts and a new root, as a rehearsal needs them."""
    if sys.platform != "linux" or platform.machine() not in _PIVOT_ROOT:
        return False
    child = os.fork()
    if child == 0:
        try:
            _separate(has_network=not without_network)
            _mount("tmpfs", "/tmp", "tmpfs", _NO_SUID)
            if without_network:
                network.raise_loopback()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def enter(world: World) -> None:
    """This process, and all it starts, from now on. Raises OSError."""
    for name in world.unset:
        os.environ.pop(name, None)
    os.environ.update(world.variables)
    if not world.is_closed:
        return
    questions = os.open(world.questions, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if world.questions else None
    _separate(has_network=world.has_network)
    _build(world)
    _change_root(world.base)
    if not world.has_network:
        network.raise_loopback()
        if world.interface:
            network.add_interface(world.interface)
        if questions is not None:
            network.answer_nobody(questions)
    if questions is not None:
        os.close(questions)


def _separate(*, has_network: bool) -> None:
    uid, gid = os.getuid(), os.getgid()
    flags = _NEW_MOUNTS | (0 if has_network else _NEW_NET) | (_NEW_USER if uid else 0)
    _check(_libc().unshare(flags), "unshare")
    if uid:
        # Everybody stays who they were; only this lets a user mount inside.
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)


def _build(world: World) -> None:
    _mount("tmpfs", world.base, "tmpfs", _NO_SUID, "mode=755")
    for name, target in world.links.items():
        Path(f"{world.base}{name}").symlink_to(target)
    # The outer folders first: what lies inside another is put upon it. Only then are they closed for writing,
    # because places for the inner ones may still have to be made.
    ordered = sorted(world.seen, key=lambda one: one.target.count("/"))
    for one in ordered:
        _put(one, Path(f"{world.base}{one.target}"))
    for one in reversed(ordered):
        if not one.may_write and one.source:
            _close(f"{world.base}{one.target}")


def _put(one: Seen, place: Path) -> None:
    if one.source and not Path(one.source).is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.touch()
    else:
        place.mkdir(parents=True, exist_ok=True)
    if one.source:
        _mount(one.source, str(place), None, _BIND | _RECURSIVE)


def _close(place: str) -> None:
    """Read-only with all that is mounted below it; what was put upon it later keeps its own rights."""
    attributes = struct.pack("QQQQ", _ATTR_READ_ONLY, 0, 0, 0)
    done = _libc().syscall(_MOUNT_SETATTR, _HERE, os.fsencode(place), 0, attributes, len(attributes))
    if done != 0:
        kept = os.statvfs(place).f_flag & (2 | 4 | 8 | 1024 | 2048)  # nosuid nodev noexec noatime nodiratime: locked
        _mount(None, place, None, _REMOUNT | _BIND | _READ_ONLY | kept)


def _change_root(base: str) -> None:
    _mount(None, base, None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID)
    os.chdir(base)
    # Onto itself: the old root then lies above the new one and is let go. A mere chroot forbids new namespaces inside.
    _check(_libc().syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _check(_libc().umount2(b".", _DETACH), "umount")
    os.chdir("/")


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, options)]
    _check(_libc().mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount {target}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
