"""Holding a tunnel open: after a cut, after the laptop slept, on the same port of the laptop."""

from collections.abc import Callable

from windlass.app.session import Session
from windlass.edges.local_ports import Answer, Seen, probe_port
from windlass.edges.ssh_host import SshHost
from windlass.edges.tunnels import Tunnel
from windlass.errors import ClusterUnavailable, ConnectionLost, HostUnreachable, WindlassError

OUT_OF_REACH = (ClusterUnavailable, ConnectionLost, HostUnreachable)  # what passes by itself
_SLEPT_S = 30.0  # a gap of the clock: the laptop was asleep
_PAUSES_S = (0.0, 2.0, 5.0, 10.0, 20.0)  # before each try to open it again; the last for all that follow
_HUNG_TRIES = 2  # after so many the connection itself is opened anew

Connect = Callable[[int | None], Tunnel | None]  # the port it had before; None: not there yet


class Holder:
    """show: called when something answers, and again when the port is another.

    judge: sees a tunnel that was cut, and raises where another would not do better.
    """

    def __init__(
        self,
        session: Session,
        site: str,
        connect: Connect,
        *,
        show: Callable[[Seen, int], None],
        probe: Callable[[int], Seen] = probe_port,
        judge: Callable[[Tunnel], None] = lambda tunnel: None,
        what: str = "the tunnel",
    ) -> None:
        self._session, self._site, self._connect = session, site, connect
        self._show, self._probe, self._judge, self._what = show, probe, judge, what
        self._tunnel: Tunnel | None = None
        self._local: int | None = None
        self._shown: int | None = None
        self.was_open = False
        self._was_reached = False
        self._is_checked = False
        self._told = ""
        self._tries = 0
        self._next_try = 0.0
        self._clock = session.clock()

    def turn(self) -> None:
        """Looked at every few seconds. What cannot be opened the first time is an error."""
        slept, self._clock = self._session.clock() - self._clock > _SLEPT_S, self._session.clock()
        if self._tunnel is not None and (not self._tunnel.is_alive() or (slept and not self._answers())):
            self._judge(self._tunnel)
            self.tell(f"{self._what} was cut{self._format_words()}; opening it again")
            self.close()
        if self._tunnel is None:
            self._open()
        if self._tunnel is not None and not self._is_checked:
            self._check(self._tunnel)

    @property
    def is_open(self) -> bool:
        return self._tunnel is not None and self._is_checked

    def close(self) -> None:
        if self._tunnel is not None:
            self._tunnel.close()
            self._tunnel = None

    def tell(self, words: str) -> None:
        """Each once, until something else is told."""
        if words != self._told:
            self._told = words
            self._session.tell(words)

    def tell_out_of_reach(self) -> None:
        self.tell(f"{self._site} is out of reach; trying again")

    def _open(self) -> None:
        now = self._session.clock()
        if now < self._next_try:
            return
        try:
            self._tunnel = self._connect(self._local)
            self._was_reached = True
        except WindlassError as problem:
            self._tell_problem(problem)
            self._tries += 1
            self._next_try = now + _PAUSES_S[min(self._tries, len(_PAUSES_S) - 1)]
            self._renew_connection()
            return
        if self._tunnel is not None:
            self._local, self._is_checked, self._tries = self._tunnel.local, False, 0

    def _tell_problem(self, problem: WindlassError) -> None:
        """Raised where it is the first answer of all: then another try would do no better."""
        passes = isinstance(problem, OUT_OF_REACH)
        if not self.was_open and not (passes and self._was_reached):
            raise problem
        if passes:
            self.tell_out_of_reach()
        else:
            self.tell(f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}; trying again")

    def _renew_connection(self) -> None:
        """One that hangs, as after a sleep: ours is closed, and the next try opens another. Never the user's own."""
        host = self._session.host(self._session.site(self._site))
        if self._tries % _HUNG_TRIES == 0 and isinstance(host, SshHost):
            host.close_master()

    def _check(self, tunnel: Tunnel) -> None:
        seen = self._probe(tunnel.local)
        if seen.answer is Answer.CLOSED:
            words = tunnel.words
            self.tell(f"nothing answers there yet{f' ({words})' if words else ''}: waiting for it")
            return
        self._is_checked = True
        if self.was_open and self._shown == tunnel.local:
            self.tell(f"{self._what} is open again")
        else:
            self._show(seen, tunnel.local)
        self.was_open, self._shown, self._told = True, tunnel.local, ""

    def _answers(self) -> bool:
        return self._tunnel is not None and self._probe(self._tunnel.local).answer is not Answer.CLOSED

    def _format_words(self) -> str:
        words = self._tunnel.words if self._tunnel is not None else ""
        return f" ({words.splitlines()[-1]})" if words else ""
