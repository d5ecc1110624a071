"""Whose program is at the other end of a connection on this machine, where the kernel tells (Linux does)."""

from pathlib import Path

_TABLE = Path("/proc/net/tcp")
_LOOPBACK = "0100007F"  # 127.0.0.1, as the kernel writes it


def find_owner(port: int, server_port: int, *, table: Path = _TABLE) -> int | None:
    """The number of the user who connected from this port; None where that cannot be seen."""
    try:
        lines = table.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError:
        return None
    wanted = f"{_LOOPBACK}:{port:04X}", f"{_LOOPBACK}:{server_port:04X}"
    for line in lines:
        fields = line.split()
        if len(fields) > 7 and tuple(fields[1:3]) == wanted and fields[7].isdigit():
            return int(fields[7])
    return None
