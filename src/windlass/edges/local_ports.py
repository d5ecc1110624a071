"""Ports of this laptop: which are free, and what answers on one. Nothing here listens but on 127.0.0.1."""

import http.client
import select
import socket
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from windlass.edges.connections import IPV4, format_end, load_connections

ADDRESS = "127.0.0.1"
_BACKLOG = 64
_REFUSED_S = 0.3  # a tunnel whose far end refuses closes the connection soon; if later, the page tells


def listen(port: int) -> socket.socket | None:
    """None: another program has this port, or it is not for us."""
    end = socket.socket()
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.bind((ADDRESS, port))
        end.listen(_BACKLOG)
    except OSError:
        end.close()
        return None
    return end


def listen_near(port: int) -> socket.socket:
    """On this port, or on another that is free."""
    return listen(port) or listen(0) or socket.create_server((ADDRESS, 0))


def is_free(port: int) -> bool:
    end = listen(port)
    if end is not None:
        end.close()
    return end is not None


def find_free_port() -> int:
    with socket.create_server((ADDRESS, 0)) as end:
        return int(end.getsockname()[1])


class Answer(StrEnum):
    PAGE = "page"  # it speaks HTTP
    PORT = "port"  # somebody is there, and waits or speaks otherwise
    CLOSED = "closed"  # nobody is there


@dataclass(frozen=True, kw_only=True)
class Seen:
    answer: Answer
    status: int | None = None  # of the page
    body: bytes = b""


def probe_port(port: int, *, timeout_s: float = 10.0) -> Seen:
    """What a browser would meet. Asked for a page only when the connection stays open."""
    if not _stays_open(port):
        return Seen(answer=Answer.CLOSED)
    return probe_page(port, "/", timeout_s=timeout_s)


def probe_page(port: int, path: str, *, token: str = "", timeout_s: float = 10.0) -> Seen:
    """The token goes along as a header: addresses are written into logs."""
    connection = http.client.HTTPConnection(ADDRESS, port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Authorization": f"token {token}"} if token else {})
        answer = connection.getresponse()
        return Seen(answer=Answer.PAGE, status=answer.status, body=answer.read(1 << 16))
    except http.client.RemoteDisconnected:
        return Seen(answer=Answer.CLOSED)
    except (http.client.HTTPException, TimeoutError):
        return Seen(answer=Answer.PORT)
    except OSError:
        return Seen(answer=Answer.CLOSED)
    finally:
        connection.close()


def has_clients(port: int, *, table: Path = IPV4) -> bool | None:
    """Somebody is connected to this port, such as the tab of a browser; None where the kernel does not tell."""
    rows, end = load_connections(table), format_end(ADDRESS, port)
    return None if rows is None else any(row.here == end and row.is_established for row in rows)


def _stays_open(port: int) -> bool:
    try:
        with socket.create_connection((ADDRESS, port), timeout=_REFUSED_S) as end:
            if not select.select([end], [], [], _REFUSED_S)[0]:
                return True
            return bool(end.recv(1, socket.MSG_PEEK))
    except OSError:
        return False
