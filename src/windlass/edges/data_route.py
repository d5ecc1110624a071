"""The way large data takes to a site: over its transfer host where it has one, several sessions on one connection."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from windlass.core.site import Site
from windlass.edges.bundle import BOOTSTRAP, PYTHON_FLAGS, make_remote_command
from windlass.edges.channel import ChannelClosed
from windlass.edges.data_stream import DataStream
from windlass.edges.ssh_host import explain_closed
from windlass.edges.ssh_master import SshMaster
from windlass.edges.ssh_target import SshTarget
from windlass.edges.start_failure import explain_start
from windlass.errors import ConnectionLost, HostUnreachable, WindlassError

THIS_MACHINE = "this machine"  # instead of a host


def make_transfer_site(site: Site) -> Site:
    """The site as large data sees it. A transfer host that is itself on the way is not jumped over."""
    login = site.login
    if site.is_local or not login.transfer_host or login.transfer_host == login.host:
        return site
    hosts = list(login.jump)
    before = hosts[: hosts.index(login.transfer_host)] if login.transfer_host in hosts else hosts
    return replace(site, login=replace(login, host=login.transfer_host, jump=tuple(before)))


class DataRoute:
    """config, runtime: as for SshHost. python: of a local site, for tests."""

    def __init__(
        self,
        site: Site,
        *,
        config: Path | None = None,
        runtime: Path | None = None,
        python: str = sys.executable,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.site = site
        self._target = SshTarget(site=site, config=config)
        self._runtime = runtime
        self._python = python
        self._tell = tell
        self._streams: list[DataStream] = []

    @property
    def host(self) -> str:
        return self.site.login.host or THIS_MACHINE

    def open(self) -> DataStream:
        """One session more; the error says why there is none."""
        try:
            stream = DataStream(self._make_argv())
        except ChannelClosed as closed:
            raise self.explain(closed) from closed
        except OSError as error:
            raise HostUnreachable(f"cannot start a session at {self.host}: {error.strerror}") from error
        self._streams.append(stream)
        return stream

    def open_more(self, count: int) -> list[DataStream]:
        """As many as are given: a site may allow few sessions, and fewer will do."""
        with ThreadPoolExecutor(max(1, count)) as pool:
            started = [pool.submit(self.open) for _ in range(count)]
        streams = []
        for one in started:
            with suppress(WindlassError):
                streams.append(one.result())
        if len(streams) < count:
            self._tell(f"{self.host} allows {1 + len(streams)} sessions at once: going on with those")
        return streams

    def explain(self, closed: ChannelClosed) -> WindlassError:
        if not self.site.is_local:
            return explain_closed(closed, self.site)
        if not closed.greeted:
            return explain_start(closed, place="on this machine", python=self._python)
        return ConnectionLost("our helper process on this machine ended", said=closed.words or None)

    def close(self) -> None:
        """The shared connection stays for the next command."""
        for stream in self._streams:
            stream.close()
        self._streams.clear()

    def close_master(self) -> None:
        self.close()
        if not self.site.is_local:
            SshMaster(self._target, runtime=self._runtime).close()

    def _make_argv(self) -> list[str]:
        if self.site.is_local:
            return [self._python, *PYTHON_FLAGS, "-c", BOOTSTRAP]
        shared = SshMaster(self._target, runtime=self._runtime).open(interactive=False)
        command = make_remote_command(self.site.software.python, login_shell=self.site.login.login_shell)
        # Where the shared connection has no room for one more session, ssh would log in anew, and ask somebody.
        options = {**shared, "BatchMode": "yes", "LogLevel": "ERROR"}
        return [*self._target.make_argv(options=options, flags=("-T",)), command]
