"""TCP connections of this machine, where the kernel tells of them (Linux does)."""

import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

IPV4 = Path("/proc/net/tcp")
# A program that speaks IPv6 may call an IPv4 address too: its end of the connection then stands in the second.
TABLES = (IPV4, Path("/proc/net/tcp6"))
# What stands before an IPv4 address there.
MAPPED = "0000000000000000FFFF0000" if sys.byteorder == "little" else "00000000000000000000FFFF"
_ESTABLISHED = "01"
_CLOSED = "0"  # what was closed already has no inode, and seems to be root's, whosever it was


@dataclass(frozen=True, kw_only=True)
class Connection:
    """As one of its ends has it; a connection of two programs of this machine is there twice."""

    here: str  # as `format_end` says
    there: str
    user: int
    is_established: bool
    has_program: bool


def load_connections(table: Path) -> list[Connection] | None:
    """None where the kernel does not tell."""
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return None
    return list(_read_connections(lines))


def _read_connections(lines: Iterable[str]) -> Iterator[Connection]:
    for line in lines:
        fields = line.split()
        if len(fields) > 9 and fields[7].isdigit():
            yield Connection(
                here=fields[1],
                there=fields[2],
                user=int(fields[7]),
                is_established=fields[3] == _ESTABLISHED,
                has_program=fields[9] != _CLOSED,
            )


def format_end(address: str, port: int) -> str:
    """As the kernel does: the address is a number of the machine's own byte order."""
    return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}"
