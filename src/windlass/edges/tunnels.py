"""Tunnels: a port of this laptop that is a port on a node. Forwarded by ssh, or relayed by a session of our own."""

from collections.abc import Callable, Sequence
from typing import Protocol

from windlass.edges.bundle import RELAY
from windlass.edges.host import Host, Json
from windlass.edges.local_ports import find_free_port, is_free, listen_near
from windlass.edges.relay import Relay, RelayFailed
from windlass.edges.ssh_forward import Forward, Forwarder, ForwardFailed
from windlass.edges.ssh_host import SshHost
from windlass.errors import TunnelFailed
from windlass_job.relaying.far import name_network


class Tunnel(Protocol):
    """`open` again after it was cut: with the same port of the laptop, where that is still free."""

    @property
    def local(self) -> int: ...

    @property
    def words(self) -> str:
        """Why it does not work, as far as anybody said."""
        ...

    def open(self) -> None: ...

    def is_alive(self) -> bool: ...

    def close(self) -> None: ...


class NoTunnel:
    """The node is this very machine: its port is here already."""

    words = ""

    def __init__(self, port: int) -> None:
        self.local = port

    def open(self) -> None: ...

    def is_alive(self) -> bool:
        return True

    def close(self) -> None: ...


class ForwardTunnel:
    """By the shared connection itself, where the login node reaches the port."""

    def __init__(self, host: SshHost, node: str, port: int, *, wanted: int) -> None:
        self._forwarder = Forwarder(host.target, host.master)
        self._node, self._port = node, port
        self._forward: Forward | None = None
        self._holder: int | None = None
        self.local = wanted
        self.words = ""

    def open(self) -> None:
        self.local = self.local if is_free(self.local) else find_free_port()
        forward = Forward(local=self.local, host=self._node, port=self._port)
        try:
            self._holder = self._forwarder.open(forward)
        except ForwardFailed as problem:
            raise TunnelFailed(f"ssh does not forward port {self.local}", said=str(problem)) from problem
        self._forward = forward

    def is_alive(self) -> bool:
        """A connection that was opened anew has not got it."""
        try:
            return self._holder is not None and self._forwarder.find_process() == self._holder
        except ForwardFailed:
            return False

    def close(self) -> None:
        if self._forward is None:
            return
        try:
            self._forwarder.close(self._forward)
        except ForwardFailed as problem:  # it is gone with the connection
            self.words = str(problem)
        self._forward = self._holder = None


class RelayTunnel:
    """By a session of our own, whose far end calls the service. make_argv: what starts that end."""

    def __init__(
        self,
        make_argv: Callable[[], Sequence[str]],
        order: Json,
        *,
        wanted: int,
        modules: tuple[str, ...] = RELAY,
    ) -> None:
        self._make_argv, self._order, self._modules = make_argv, order, modules
        self._listener = listen_near(wanted)
        self._relay: Relay | None = None
        self.local = int(self._listener.getsockname()[1])

    @property
    def words(self) -> str:
        return "" if self._relay is None else self._relay.refusal or ("" if self._relay.is_alive else self._relay.words)

    @property
    def is_near(self) -> bool:
        """Its far end is on this very machine."""
        return self._relay is not None and self._relay.hello.get("network") == name_network()

    @property
    def said_bye(self) -> str:
        return "" if self._relay is None else self._relay.said_bye

    def open(self) -> None:
        self._let_go()
        argv = self._make_argv()
        try:
            self._relay = Relay(argv, self._order, self._listener, modules=self._modules)
        except RelayFailed as problem:
            raise TunnelFailed("the way to the node does not open", said=problem.words or None) from problem

    def is_alive(self) -> bool:
        return self._relay is not None and self._relay.is_alive

    def close(self) -> None:
        self._let_go()
        self._listener.close()

    def _let_go(self) -> None:
        if self._relay is not None:
            self._relay.close()
            self._relay = None


def make_session_argv(host: Host, line: str) -> list[str]:
    """What runs this line at the site, with pipes for its input and output."""
    return host.make_session_argv(line) if isinstance(host, SshHost) else ["bash", "-lc", line]
