"""Runs a command in a network of its own, which has nothing but loopback: `without_network.py COMMAND ...`.

It ends with 97 where the system does not let us. It is laid beside the command, and imports nothing of ours.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from typing import List

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
REFUSED = 97


def main(argv: "List[str]") -> int:
    try:
        _leave_the_network()
        _raise_loopback()
    except (OSError, AttributeError) as error:
        sys.stderr.write("windlass: no network namespace: {}\n".format(error))
        return REFUSED
    return _become(argv)


def _become(argv: "List[str]") -> int:
    os.execvp(argv[0], argv)


def _leave_the_network() -> None:
    """Root needs no user namespace; where it may not do it without one, it gets one too."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    if uid == 0 and libc.unshare(_NEW_NET) == 0:
        return
    if libc.unshare(_NEW_USER | _NEW_NET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    # Everybody stays who they were.
    for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)


def _raise_loopback() -> None:
    """A new network has it down, and trainings talk to themselves over it."""
    handle = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        found = fcntl.ioctl(handle, _GET_FLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack_from("H", found, 16)[0]
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))
    finally:
        handle.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
