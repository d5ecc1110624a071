"""Ports that the shared connection forwards: on 127.0.0.1, one more and none else, gone when they are closed."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edges.sshd import Sshd, find_free_port, run_sshd
from tests.waiting import wait_until
from windlass.core.site import Login, Site
from windlass.edges.local_ports import Answer, is_free, probe_port
from windlass.edges.ssh_host import SshHost
from windlass.edges.tunnels import ForwardTunnel

SITE = Site(name="hpc", login=Login(host="site"))


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with run_sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def host(sshd: Sshd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    found = SshHost(SITE, config=sshd.config, runtime=tmp_path_factory.mktemp("r"))
    yield found
    found.close_master()


@pytest.fixture
def service() -> Iterator[int]:
    """A page for whoever asks."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    end, _ = server.accept()
                except OSError:
                    return
                with end:
                    if end.recv(1000):
                        end.sendall(b"HTTP/1.0 200 OK\r\n\r\nhere I am")

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def test_a_port_is_forwarded_on_the_shared_connection_and_let_go(sshd: Sshd, host: SshHost, service: int) -> None:
    host.open_master(interactive=False)
    logins, wanted = sshd.count_logins(), find_free_port()
    tunnel = ForwardTunnel(host, "127.0.0.1", service, wanted=wanted)

    tunnel.open()

    assert (tunnel.local, tunnel.is_alive()) == (wanted, True)
    assert probe_port(wanted).body == b"here I am"
    assert sshd.count_logins() == logins
    tunnel.close()
    assert is_free(wanted)
    assert host.master.find() is not None


def test_a_port_that_is_taken_is_not_forwarded_on_another_address(host: SshHost, service: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        wanted = taken.getsockname()[1]
        tunnel = ForwardTunnel(host, "127.0.0.1", service, wanted=wanted)
        tunnel.open()

        assert tunnel.local != wanted
        assert probe_port(tunnel.local).answer is Answer.PAGE
        tunnel.close()


def test_a_tunnel_dies_with_its_connection_and_is_opened_again_on_the_next(host: SshHost, service: int) -> None:
    wanted = find_free_port()
    tunnel = ForwardTunnel(host, "127.0.0.1", service, wanted=wanted)
    tunnel.open()
    told = subprocess.run(["pgrep", "-f", f"ControlPath={host.master.path}.*-N"], capture_output=True, check=True)
    os.kill(int(told.stdout.split()[0]), signal.SIGKILL)
    wait_until(lambda: not tunnel.is_alive(), "the cut is seen")

    host.open_master(interactive=False)
    assert not tunnel.is_alive()  # another connection, without the tunnel
    tunnel.open()

    assert (tunnel.local, tunnel.is_alive()) == (wanted, True)
    assert probe_port(wanted).answer is Answer.PAGE
    tunnel.close()


def test_nobody_behind_the_port_is_no_answer(host: SshHost) -> None:
    tunnel = ForwardTunnel(host, "127.0.0.1", find_free_port(), wanted=find_free_port())
    tunnel.open()

    assert probe_port(tunnel.local).answer is Answer.CLOSED
    tunnel.close()


def test_the_users_connection_forwards_it_and_none_of_the_users_own_ports(
    sshd: Sshd, service: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    runtime, own = tmp_path_factory.mktemp("r"), find_free_port()
    config = runtime / "config"
    lines = f"Host site\nControlMaster auto\nControlPath {runtime}/own-%C\nLocalForward 127.0.0.1:{own} 127.0.0.1:9\n"
    config.write_text(lines + sshd.config.read_text())
    ssh = ["ssh", "-F", str(config)]
    open_own = [*ssh, "-M", "-N", "-f", "-o", "ControlPersist=60", "-o", "ClearAllForwardings=yes", "site"]
    subprocess.run(open_own, check=True, stderr=subprocess.DEVNULL)
    tunnel = ForwardTunnel(
        SshHost(SITE, config=config, runtime=Path(runtime)), "127.0.0.1", service, wanted=find_free_port()
    )

    tunnel.open()

    assert probe_port(tunnel.local).answer is Answer.PAGE
    assert is_free(own)
    tunnel.close()
    assert is_free(tunnel.local)
    subprocess.run([*ssh, "-O", "exit", "site"], check=True, stderr=subprocess.DEVNULL)
