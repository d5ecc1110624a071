"""Access to the centres with the real ssh: its options, the VPN that must be open, and the host on the way."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.edges.sshd import find_free_port, run_sshd, skip_without_sshd
from tests.sites.shipped import load
from windlass.edges.host import Request
from windlass.edges.ssh_host import SshHost
from windlass.edges.ssh_target import SshTarget
from windlass.errors import HostUnreachable

FACTS = Request(operation="facts")


def read_settings(name: str, config: Path) -> dict[str, str]:
    """What ssh itself makes of the command line that Windlass would run."""
    skip_without_sshd()
    config.touch()
    argv = SshTarget(site=load(name), config=config).make_argv(options={}, flags=("-G",))
    shown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return dict(line.split(" ", 1) for line in shown.splitlines() if " " in line)


def test_connections_that_break_easily_are_kept_alive(tmp_path: Path) -> None:
    """SD-19."""
    found = read_settings("sdumont", tmp_path / "config")

    assert (found["serveraliveinterval"], found["serveralivecountmax"]) == ("30", "3")
    assert found["ipqos"].split()[0] == "throughput"


@pytest.mark.parametrize(
    ("site", "host"),
    [
        pytest.param("sdumont", "login.sdumont.lncc.br", id="SD-18"),
        pytest.param("narval", "narval.alliancecan.ca", id="CA-01"),
        pytest.param("jureca-dc", "jureca.fz-juelich.de", id="JS-37"),
        pytest.param("daint", "daint.cscs.ch", id="CS-03"),
        pytest.param("wilson", "wc.fnal.gov", id="WI-01"),
    ],
)
def test_ssh_goes_where_the_centre_says(site: str, host: str, tmp_path: Path) -> None:
    found = read_settings(site, tmp_path / "config")

    assert found["hostname"] == host
    assert found.get("proxyjump") == ("ela.cscs.ch" if site == "daint" else None)


def test_a_closed_vpn_is_named_when_the_host_does_not_answer(tmp_path: Path) -> None:
    """SD-16."""
    config = tmp_path / "config"
    config.write_text(f"Host *\nHostName 127.0.0.1\nPort {find_free_port()}\n")

    with pytest.raises(HostUnreachable) as refused:
        SshHost(load("sdumont"), config=config, runtime=tmp_path).ask([FACTS])

    assert "VPN of LNCC" in str(refused.value)


def test_the_host_behind_the_front_end_is_reached_through_it(tmp_path: Path) -> None:
    """CS-03: one login at ela, then one at daint from there."""
    site = load("daint")
    # A socket's name is short: pytest's own folder may be too deep for it.
    with run_sshd(tmp_path / "sshd") as server, tempfile.TemporaryDirectory(dir="/tmp", prefix="wl") as runtime:
        lines = server.write_config(known=server.host_key).read_text()
        server.config.write_text(lines.replace("Host site gate", f"Host {site.login.host} {site.login.jump[0]}"))
        host = SshHost(site, config=server.config, runtime=Path(runtime))

        assert host.ask([FACTS])[0].ok
        assert server.count_logins() == 2
        host.close_master()
