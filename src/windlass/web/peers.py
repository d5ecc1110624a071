"""Whose program is at the other end of a connection on this machine, where the kernel tells (Linux does)."""

import os
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# A program that speaks IPv6 may call an IPv4 address too: its end of the connection then stands in the second.
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_SERVER = "127.0.0.1"
_MAPPED = "0000000000000000FFFF0000" if sys.byteorder == "little" else "00000000000000000000FFFF"
_TURNS = 3  # the kernel hands a table out piece by piece, and one that changes meanwhile may lack a row
NOBODY = -1


def find_owner(client: tuple[str, int], server_port: int, *, tables: Sequence[Path] = _TABLES) -> int | None:
    """The number of the user who connected from this address.

    None where the kernel tells nothing of connections; NOBODY where it does, and shows no program at that end.
    """
    wanted = {(f"{mark}{_write(client)}", f"{mark}{_write((_SERVER, server_port))}") for mark in ("", _MAPPED)}
    for _ in range(_TURNS):
        rows = [row for table in tables for row in _read_rows(table)]
        if not rows:
            return None
        owners = [int(row[7]) for row in rows if (row[1], row[2]) in wanted and _has_program(row)]
        if owners:
            return owners[0]
    return NOBODY


def is_of_another_user(owner: int | None) -> bool:
    """As far as it can be seen. owner: as `find_owner` says."""
    return owner not in (None, NOBODY, os.getuid(), 0)


def _write(end: tuple[str, int]) -> str:
    """As the kernel does: the address is a number of the machine's own byte order."""
    address, port = end
    return f"{int.from_bytes(socket.inet_aton(address), sys.byteorder):08X}:{port:04X}"


def _read_rows(table: Path) -> Iterator[list[str]]:
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return
    yield from (fields for line in lines if len(fields := line.split()) > 9 and fields[7].isdigit())


def _has_program(row: Sequence[str]) -> bool:
    """What was closed already has no inode, and seems to be root's, whosever it was."""
    return row[9] != "0"
