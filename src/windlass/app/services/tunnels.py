"""`tunnel`: a port of this laptop that is a port on a node of a run."""

from dataclasses import dataclass

from windlass.app.services.spots import find_spot
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.services.tunnels import Ports, Spot, Way, list_ways, make_relay_line
from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS
from windlass.edges.host import Request
from windlass.edges.local_ports import Answer, probe_port
from windlass.edges.ssh_host import SshHost
from windlass.edges.tunnels import ForwardTunnel, NoTunnel, RelayTunnel, Tunnel, make_session_argv
from windlass.errors import TunnelFailed

_REACH_S = 3.0


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Which port of which node, and by which way."""

    ports: Ports
    node: str | None = None  # default: the first of the run
    by: Way | None = None  # default: the first that works


def connect(session: Session, record: RunRecord, wish: Wish) -> Tunnel | None:
    """Open, by the first way that works; None: the run has no node yet, as in its first second.

    Whether anybody listens at its end is another question.
    """
    spot = find_spot(session, record, wish.ports.there, node=wish.node)
    return open_tunnel(session, spot, wish) if spot is not None else None


def open_tunnel(session: Session, spot: Spot, wish: Wish) -> Tunnel:
    problems = []
    is_reachable = wish.by is None and _is_reachable(session, spot)
    for way in list_ways(spot.site, is_reachable=is_reachable, wanted=wish.by):
        tunnel = _make_tunnel(session, way, spot, wanted=wish.ports.here)
        try:
            tunnel.open()
        except TunnelFailed as problem:
            problems.append(f"by {way}: {problem.message}" + (f": {problem.said}" if problem.said else ""))
            tunnel.close()
            continue
        except BaseException:
            tunnel.close()
            raise
        if spot.site.is_local and not wish.ports.is_named and isinstance(tunnel, RelayTunnel) and tunnel.is_near:
            tunnel.close()
            return NoTunnel(spot.port)
        # The login node may forbid forwarding, which ssh notices only when somebody connects.
        if way is not Way.FORWARD or not is_reachable or probe_port(tunnel.local).answer is not Answer.CLOSED:
            return tunnel
        problems.append(f"by {way}: the login node closes the connection at once")
        tunnel.close()
    raise TunnelFailed(
        f"port {spot.port} of {spot.node} at {spot.site.name} cannot be reached",
        details=problems,
        done="the run goes on",
    )


def _is_reachable(session: Session, spot: Spot) -> bool:
    """From the login node, over the network of the site."""
    if spot.site.is_local:
        return False
    arguments = {"host": spot.node, "port": spot.port, "timeout_s": _REACH_S}
    [reply] = session.host(spot.site).ask([Request(operation="try_port", arguments=arguments, idempotent=True)])
    return bool(reply.ok and reply.values.get("is_reachable"))


def _make_tunnel(session: Session, way: Way, spot: Spot, *, wanted: int) -> Tunnel:
    host = session.host(spot.site)
    if way is Way.FORWARD:
        if not isinstance(host, SshHost):
            raise TunnelFailed(f"{spot.site.name} is this very machine: there is no ssh that could forward a port")
        return ForwardTunnel(host, spot.node, spot.port, wanted=wanted)
    program = (spot.site.software.python, *PYTHON_FLAGS, "-c", BOOTSTRAP)
    line = make_relay_line(way, spot, program)
    return RelayTunnel(lambda: make_session_argv(host, line), {"port": spot.port}, wanted=wanted)
