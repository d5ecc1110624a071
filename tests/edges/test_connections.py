"""The kernel's tables of connections: rows as Linux writes them, real ones, and where it tells nothing."""

import os
import socket
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from windlass.edges.connections import IPV4, Connection, format_end, load_connections
from windlass.edges.local_ports import has_clients

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
# A server that listens, its end of a connection, and one that was closed a moment ago.
ROWS = """\
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 41 1 0000000000000000 100 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 02:000A0E2C 00000000  1000        0 42 2 0000000000000000 20 4
   2: 0100007F:C351 0100007F:1F91 06 00000000:00000000 03:00001771 00000000     0        0 0 3 0000000000000000
cut short
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "tcp").write_text(HEAD + ROWS)
    return tmp_path / "tcp"


def test_rows_are_read_as_linux_writes_them(table: Path) -> None:
    listening, connected, closed = load_connections(table) or []

    assert connected == Connection(
        here="0100007F:1F90", there="0100007F:C350", user=1000, is_established=True, has_program=True
    )
    assert (listening.is_established, listening.has_program) == (False, True)
    assert (closed.is_established, closed.has_program) == (False, False)


@pytest.mark.skipif(sys.byteorder != "little", reason="the rows were written down on a little-endian machine")
def test_only_who_is_connected_is_a_client(table: Path, tmp_path: Path) -> None:
    assert has_clients(8080, table=table) is True
    assert has_clients(8081, table=table) is False
    assert has_clients(50001, table=table) is False
    assert has_clients(8080, table=tmp_path / "none") is None


@pytest.mark.skipif(not IPV4.exists(), reason="the kernel tells nothing of connections here")
def test_a_connection_of_this_machine_is_seen_from_both_its_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert has_clients(port) is False
        with socket.create_connection(("127.0.0.1", port)) as client:
            ends = (format_end(*client.getsockname()), format_end("127.0.0.1", port))

            # The kernel hands a table out piece by piece: one that changes meanwhile may lack a row.
            wait_until(lambda: has_clients(port) is True, "the server's end")
            wait_until(lambda: find_users(*ends) == [os.getuid()], "the client's end")


def find_users(here: str, there: str) -> list[int]:
    return [one.user for one in load_connections(IPV4) or [] if (one.here, one.there) == (here, there)]
