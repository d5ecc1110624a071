"""The far end of a relay: on the node of a job, or on the login node. It calls the service for the laptop.

It comes over its input like the deputy (`windlass/edges/bundle.py`) and leaves nothing of itself behind.
"""

import json
import os
import socket
from typing import Any, Dict, List, Optional, Tuple

from windlass_job.relaying import frames
from windlass_job.relaying.exchange import Exchange

_CALL_S = 10.0
_LISTENS = "0A"  # of a socket in /proc/net/tcp


def main(nonce: str) -> None:
    source, sink = os.dup(0), os.dup(1)
    # What somebody prints by accident does not come between the frames.
    os.dup2(2, 1)
    order = read_order(source)
    greet(sink, nonce)
    exchange = Exchange(source, sink, dial=lambda: call(order.get("host") or "", int(order["port"])))
    try:
        exchange.run()
    except frames.Garbled:
        pass  # the laptop has gone in the middle of a frame


def read_order(source: int) -> Dict[str, Any]:
    """The first line: where the service listens. Byte by byte, because frames follow."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(source, 1)
        if not piece:
            os._exit(9)
        line += piece
    order: Dict[str, Any] = json.loads(line.decode("ascii"))
    return order


def greet(sink: int, nonce: str) -> None:
    """The word the laptop chose: what comes before it is the noise of start files."""
    told = {"protocol": frames.PROTOCOL, "host": socket.gethostname(), "network": name_network()}
    os.write(sink, "{} {}\n".format(nonce, json.dumps(told)).encode("ascii"))


def name_network() -> str:
    """The same word for processes that share a loopback: the name of a host may be pretended."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return "{} {}".format(file.read().strip(), os.readlink("/proc/self/ns/net"))
    except OSError:
        return socket.gethostname()


def call(host: str, port: int) -> socket.socket:
    """A connection to the service. On this node a service may listen on loopback only, or on the node's name only."""
    if not host:
        stranger = find_stranger(port)
        if stranger is not None:
            raise OSError("port {} of {} is held by another user ({})".format(port, socket.gethostname(), stranger))
    problem: Optional[OSError] = None
    for place in [host] if host else ["127.0.0.1", "::1", socket.gethostname()]:
        try:
            return socket.create_connection((place, port), _CALL_S)
        except OSError as error:
            problem = problem or error
    words = getattr(problem, "strerror", None) or str(problem)
    raise OSError("port {} of {}: {}".format(port, host or socket.gethostname(), words.lower()))


def find_stranger(port: int) -> Optional[int]:
    """The number of another user who listens on this port of the node, where we do not; nobody sends him a token."""
    owners = [owner for path in ("/proc/net/tcp", "/proc/net/tcp6") for owner in list_owners(path, port)]
    return None if not owners or os.getuid() in owners else owners[0]


def list_owners(path: str, port: int) -> List[int]:
    try:
        with open(path) as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        return []
    return [owner for at, owner in map(_read_line, lines) if at == port]


def _read_line(line: str) -> Tuple[int, int]:
    """The port and the owner of a socket that listens; 0 of another."""
    words = line.split()
    if len(words) < 8 or words[3] != _LISTENS:
        return 0, 0
    return int(words[1].rpartition(":")[2], 16), int(words[7])
