"""Whose program is at the other end of a connection on this machine, where the kernel tells (Linux does)."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from windlass.edges.connections import MAPPED, TABLES, format_end, load_connections

_SERVER = "127.0.0.1"
_TURNS = 3  # the kernel hands a table out piece by piece, and one that changes meanwhile may lack a row
NOBODY = -1

FindOwner = Callable[[tuple[str, int], int], int | None]  # the client and the port of the server


def find_owner(client: tuple[str, int], server_port: int, *, tables: Sequence[Path] = TABLES) -> int | None:
    """The number of the user who connected from this address.

    None where the kernel tells nothing of connections; NOBODY where it does, and shows no program at that end.
    """
    wanted = {(f"{mark}{format_end(*client)}", f"{mark}{format_end(_SERVER, server_port)}") for mark in ("", MAPPED)}
    for _ in range(_TURNS):
        rows = [row for table in tables for row in load_connections(table) or ()]
        if not rows:
            return None
        owners = [row.user for row in rows if (row.here, row.there) in wanted and row.has_program]
        if owners:
            return owners[0]
    return NOBODY


def is_of_another_user(owner: int | None) -> bool:
    """As far as it can be seen. owner: as `find_owner` says."""
    return owner not in (None, NOBODY, os.getuid(), 0)
