"""A network without a way out: loopback, perhaps one more interface, and somebody who notes whom one asked for."""

import contextlib
import fcntl
import os
import signal
import socket
import struct

from windlass.pocket.processes import die_with_parent

_GET_FLAGS, _SET_FLAGS, _SET_ADDRESS, _SET_MASK = 0x8913, 0x8914, 0x8916, 0x891C
_UP = 1
_NAME_SIZE = 16
_NEW_LINK, _REQUEST, _ACK, _CREATE, _EXCLUSIVE = 16, 1, 4, 0x400, 0x200
_IFNAME, _LINKINFO, _KIND = 3, 18, 1
_ROUTE = 0  # NETLINK_ROUTE
_KINDS = (b"dummy", b"bridge", b"ifb")  # any of them will do; a small kernel has not all
ADDRESS = "10.77.0.1"
SERVER = "127.0.0.1"
_SERVFAIL = 2


def raise_loopback() -> None:
    """A new network has its loopback down. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        _raise(handle, "lo")


def add_interface(name: str) -> bool:
    """One by this name with an address of its own; False where the kernel has no such thing."""
    try:
        if not any(_make_link(name, kind) for kind in _KINDS):
            return False
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            _set_address(handle, name, _SET_ADDRESS, ADDRESS)
            _set_address(handle, name, _SET_MASK, "255.255.0.0")
            _raise(handle, name)
    except OSError:
        return False
    return True


def answer_nobody(log: int) -> None:
    """In a child that lives as long as this process: every question for a host name is noted and left unanswered."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((SERVER, 53))
    parent = os.getpid()
    if os.fork():
        listener.close()
        return
    die_with_parent()
    if os.getppid() != parent:
        os._exit(0)  # it ended before we could say that we go with it
    for descriptor in (0, 1, 2):  # whoever reads what the job prints must not wait for us
        with contextlib.suppress(OSError):
            os.close(descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        with contextlib.suppress(OSError, IndexError, UnicodeDecodeError):
            question, asker = listener.recvfrom(4096)
            os.write(log, f"{read_question(question)}\n".encode())
            listener.sendto(refuse(question), asker)


def read_question(packet: bytes) -> str:
    """The host name of a DNS question."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1 : at + 1 + packet[at]].decode("ascii"))
        at += 1 + packet[at]
    return ".".join(labels)


def refuse(packet: bytes) -> bytes:
    """`SERVFAIL`: programs then say what they say on a node without a way out."""
    return packet[:2] + bytes((packet[2] | 0x80, 0x80 | _SERVFAIL)) + packet[4:6] + bytes(6) + packet[12:]


def _raise(handle: socket.socket, name: str) -> None:
    request = struct.pack("16sH14x", name.encode(), 0)
    (flags,) = struct.unpack_from("H", fcntl.ioctl(handle, _GET_FLAGS, request), _NAME_SIZE)
    fcntl.ioctl(handle, _SET_FLAGS, struct.pack("16sH14x", name.encode(), flags | _UP))


def _set_address(handle: socket.socket, name: str, order: int, address: str) -> None:
    where = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
    fcntl.ioctl(handle, order, struct.pack("16s16s", name.encode(), where))


def _make_link(name: str, kind: bytes) -> bool:
    about = _attribute(_LINKINFO, _attribute(_KIND, kind + b"\0"))
    body = struct.pack("BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0) + _attribute(_IFNAME, name.encode() + b"\0") + about
    head = struct.pack("IHHII", 16 + len(body), _NEW_LINK, _REQUEST | _ACK | _CREATE | _EXCLUSIVE, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _ROUTE) as handle:
        handle.settimeout(5)
        handle.sendto(head + body, (0, 0))
        answer = handle.recv(4096)
    (problem,) = struct.unpack_from("i", answer, 16)
    return int(problem) == 0


def _attribute(kind: int, value: bytes) -> bytes:
    size = 4 + len(value)
    return struct.pack("HH", size, kind) + value + bytes(-size % 4)
