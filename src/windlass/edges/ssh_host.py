"""A site's login node as a host: the deputy at the end of one ssh session on the shared connection."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from windlass.core.shell import quote
from windlass.core.site import Site
from windlass.edges.bundle import make_remote_command
from windlass.edges.channel import Channel, ChannelClosed
from windlass.edges.conversation import Conversation
from windlass.edges.host import Reply, Request
from windlass.edges.ssh_master import SshMaster
from windlass.edges.ssh_target import SshTarget
from windlass.edges.ssh_words import SESSION_REFUSED, explain_ssh, pick_words
from windlass.edges.start_failure import explain_start
from windlass.errors import ConnectionLost, HostUnreachable, WindlassError

_SSH_FAILED = 255
_HELLO_S = 40.0  # start files with modules and conda take their time


class SshHost:
    """config: an ssh configuration in place of the user's own; runtime: where our control socket lies."""

    def __init__(
        self,
        site: Site,
        *,
        config: Path | None = None,
        runtime: Path | None = None,
        program: str = "ssh",
        hello_s: float = _HELLO_S,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._site = site
        self.target = SshTarget(site=site, config=config, program=program)
        self._hello_s = hello_s
        self._tell = tell
        self.master = SshMaster(self.target, runtime=runtime)
        self._conversation = Conversation(site.name, open_channel=self._open, explain=self._explain, tell=tell)

    @property
    def name(self) -> str:
        return self._site.name

    @property
    def round_trips(self) -> int:
        return self._conversation.round_trips

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        return self._conversation.ask(requests)

    def close(self) -> None:
        """Ends our session; the shared connection stays for the next command."""
        self._conversation.close()

    def open_master(self, *, interactive: bool, persist: timedelta | None = None) -> None:
        """What `windlass login` does: ssh may ask in the user's terminal."""
        self.master.open(interactive=interactive, persist=persist)

    def close_master(self) -> bool:
        """What `windlass logout` does; True when there was a connection of ours."""
        self.close()
        return self.master.close()

    def make_terminal_argv(self, line: str, *, has_terminal: bool) -> list[str]:
        """ssh with the user's terminal at its end, and this line read by a login shell there."""
        shared = self.master.open(interactive=False)
        options = {**shared, "LogLevel": "ERROR", "RequestTTY": "yes" if has_terminal else "no"}
        return [*self.target.make_argv(options=options), f"exec bash -lc {quote(line)}"]

    def make_session_argv(self, line: str) -> list[str]:
        """ssh without a terminal and without questions: this line, read by a login shell there, talks over pipes."""
        shared = self.master.open(interactive=False)
        options = {**shared, "LogLevel": "ERROR", "BatchMode": "yes"}
        return [*self.target.make_argv(options=options, flags=("-T",)), f"exec bash -lc {quote(line)}"]

    def _open(self) -> Channel:
        shared = self.master.open(interactive=False)
        options = {**shared, "BatchMode": "yes", "LogLevel": "ERROR"}
        python = self._site.software.python
        command = make_remote_command(python, login_shell=self._site.login.login_shell)
        argv = [*self.target.make_argv(options=options, flags=("-T",)), command]
        try:
            channel = Channel(argv, hello_s=self._hello_s)
        except OSError as error:
            raise HostUnreachable(f"cannot run {argv[0]}: {error.strerror}") from error
        if SESSION_REFUSED in channel.words:
            self._tell(f"{self.name}: no further session on the shared connection ({SESSION_REFUSED}); using a new one")
        return channel

    def _explain(self, closed: ChannelClosed) -> WindlassError:
        return explain_closed(closed, self._site)


def explain_closed(closed: ChannelClosed, site: Site) -> WindlassError:
    """Why a session at a site ended."""
    host = site.login.host or site.name
    if closed.greeted:
        reasons = {
            "silent": "does not answer any more",
            "garbled": "sent an answer mixed with other output",
        }
        what = reasons.get(closed.reason, "closed the connection")
        return ConnectionLost(f"{host} {what}", said=pick_words(closed.words), hint=f"ssh {host}")
    if closed.exit_code == _SSH_FAILED:
        return explain_ssh(closed.words, site)
    return explain_start(closed, place=f"at {host}", python=site.software.python)
