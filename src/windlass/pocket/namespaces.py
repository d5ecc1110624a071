"""Making the pretended nodes real enough: names that resolve, and a host name for each.

Scripts take `scontrol show hostnames | head -1` as the address of their rendezvous; on one machine nobody
would know a host called pocket1. Linux lets a process have its own /etc/hosts and host name, without root.
Where it does not (another system, a hardened kernel, a container) jobs run all the same, without the names.
"""

import ctypes
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_NEW_MOUNTS, _NEW_NAMES, _NEW_USER = 0x00020000, 0x04000000, 0x10000000
_BIND, _RECURSIVE, _SLAVE = 4096, 16384, 1 << 19
_HOSTS = Path("/etc/hosts")


def save_hosts(path: Path, names: Sequence[str], suffix: str = "") -> None:
    """This machine's hosts, and a loopback address for each node; suffix: its name in a second network."""
    known = _HOSTS.read_text(encoding="utf-8", errors="surrogateescape") if _HOSTS.exists() else ""
    rows = ((number, name, f" {name}{suffix}" if suffix else "") for number, name in enumerate(names[:250], 1))
    added = "".join(f"127.0.0.{number}\t{name}{alias}\n" for number, name, alias in rows)
    path.write_text(f"{known.rstrip()}\n{added}", encoding="utf-8", errors="surrogateescape")


def is_possible() -> bool:
    """Try it in a child: a half-made namespace is worse than none."""
    if sys.platform != "linux" or not _HOSTS.exists():
        return False
    child = os.fork()
    if child == 0:
        os._exit(0 if enter(_HOSTS, "pocket1") else 1)
    return os.waitpid(child, 0)[1] == 0


def enter(hosts: Path, name: str, covers: Sequence[tuple[str, str]] = ()) -> bool:
    """For a child, before its exec. Never raises: a job without the names is better than none.

    covers: folders that this node has for itself, and what they cover.
    """
    try:
        libc = ctypes.CDLL(None)
        uid, gid = os.getuid(), os.getgid()
        if libc.unshare(_NEW_MOUNTS | _NEW_NAMES | (_NEW_USER if uid else 0)) != 0:
            return False
        if uid:
            # Everybody stays who they were; only this lets a user mount inside.
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
        encoded = name.encode()
        return bool(
            libc.mount(None, b"/", None, _RECURSIVE | _SLAVE, None) == 0
            and libc.mount(os.fsencode(hosts), os.fsencode(_HOSTS), None, _BIND, None) == 0
            and libc.sethostname(encoded, len(encoded)) == 0
            and all(libc.mount(os.fsencode(own), os.fsencode(seen), None, _BIND, None) == 0 for own, seen in covers)
        )
    except (OSError, AttributeError):
        return False
