"""A port on the node of a run, reached from this machine: probed, opened again after a cut, closed with its run."""

import socket
import subprocess
from pathlib import Path
from urllib.error import URLError

import pytest

from tests.app.services.foreground import foreground, get_page
from tests.waiting import wait_until
from windlass.app.cancelling import cancel_runs
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.services.spots import find_job, find_running_job, find_spot
from windlass.app.services.tunnels import Wish, connect
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.services.tunnels import read_ports
from windlass.edges.local_ports import find_free_port
from windlass.edges.site_files import add_site
from windlass.edges.ssh_host import SshHost
from windlass_job import wire

# Two services on one node: one for this node alone, one for the whole network of the site.
SERVICES = """
import functools, http.server, pathlib, sys, threading
pathlib.Path("page").mkdir(exist_ok=True); pathlib.Path("page/index.html").write_text("hello from the node")
pathlib.Path("page/large").write_bytes(bytes(range(256)) * 8000)
serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory="page")
for place in sys.argv[1:]:
    host, port = place.split(":")
    server = http.server.ThreadingHTTPServer((host, int(port)), serve)
    threading.Thread(target=server.serve_forever).start()
print("ready", flush=True)
"""
LARGE = bytes(range(256)) * 8000


def start(session: Session, folder: Path, site_name: str, *places: str) -> RunRecord:
    folder.mkdir()
    (folder / "services.py").write_text(SERVICES)
    (folder / "windlass.toml").write_text(
        f'[run]\nname = "web"\ncommand = "python3 services.py {" ".join(places)}"\n'
        '[resources]\ntime = "10m"\ncpus = 1\nmemory = "300M"\n'
    )
    return start_run(session, plan_run(session, Wanted(project=folder, site=site_name)))


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_on_this_machine_the_port_is_there_already_or_gets_another_number(
    session: Session, site_name: str, tmp_path: Path
) -> None:
    port, other = find_free_port(), find_free_port()
    record = start(session, tmp_path / "project", site_name, f"127.0.0.1:{port}")

    with (
        foreground("tunnel", record.run_id, str(port)) as near,
        foreground("tunnel", record.run_id, f"{port}:{other}") as tunnel,
    ):
        assert near.wait_for_address() == f"http://127.0.0.1:{port}/"
        assert tunnel.wait_for_address() == f"http://127.0.0.1:{other}/"
        assert get_page(f"http://127.0.0.1:{other}/large") == (200, LARGE)
        assert tunnel.interrupt() == 130
        assert f"the tunnel is closed; run {record.run_id} goes on" in tunnel.said
        cancel_runs(session, [record])
        assert near.wait() == 7
        assert f"{record.run_id} is cancelled" in near.said


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_a_run_that_has_not_told_its_node_yet_is_waited_for(session: Session, site_name: str, tmp_path: Path) -> None:
    """Between the start of a job and the first words of its agent there is a moment, a long one on a busy node."""
    port = find_free_port()
    record = start(session, tmp_path / "project", site_name, f"127.0.0.1:{port}")
    wait_until(lambda: find_spot(session, record, port) is not None, "the node is told")
    status = Path(record.folder, wire.STATUS)
    aside = status.rename(status.with_suffix(".aside"))

    assert find_spot(session, record, port) is None
    assert connect(session, record, Wish(ports=read_ports(str(port)))) is None

    aside.rename(status)
    cancel_runs(session, [record])
    wait_until(lambda: find_spot(session, record, port) is None, "its job is gone")


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_the_queue_is_asked_no_more_often_than_the_site_wishes(session: Session, tmp_path: Path) -> None:
    add_site("calm", '[rules]\npoll_s = 60\n[software]\nslurm_path = "@pocket"\n', session.folders)
    record = start(session, tmp_path / "project", "calm", f"127.0.0.1:{find_free_port()}")
    host = session.host(session.site("calm"))
    early = find_running_job(session, record)
    before = host.round_trips

    assert [find_running_job(session, record) for _ in range(3)] == [early] * 3
    with Session(folders=session.folders, environ=session.environ) as other:
        assert find_running_job(other, record) == early
        assert other.host(other.site("calm")).round_trips == 0
    assert host.round_trips == before

    wait_until(lambda: find_job(session, record) != "", "asked for by somebody who waits, at once")
    assert host.round_trips > before
    cancel_runs(session, [record])


@pytest.mark.slurm
@pytest.mark.parametrize("session", ["slurm-ssh"], indirect=True)
def test_through_jump_host_and_login_node_to_a_node_of_its_own_network(
    session: Session, site_name: str, tmp_path: Path
) -> None:
    inner, outer = find_free_port(), find_free_port()
    record = start(session, tmp_path / "project", site_name, f"127.0.0.1:{inner}", f"0.0.0.0:{outer}")
    host = session.host(session.site(site_name))
    assert isinstance(host, SshHost)

    with (
        socket.create_server(("127.0.0.1", inner)),
        foreground("tunnel", record.run_id, str(inner)) as relayed,
        foreground("tunnel", record.run_id, str(outer)) as forwarded,
    ):
        by_step, by_ssh = relayed.wait_for_address(), forwarded.wait_for_address()
        assert f"port {inner} of this machine is taken" in relayed.said
        assert by_ssh == f"http://127.0.0.1:{outer}/"
        assert [get_page(f"{one}large") for one in (by_step, by_ssh)] == [(200, LARGE)] * 2
        assert find_holder(outer) == "ssh"
        assert find_holder(int(by_step.split(":")[2].strip("/"))) != "ssh"

        seen = [len(relayed.lines), len(forwarded.lines)]
        subprocess.run(["kill", "-9", str(find_master(host))], check=True)
        for tunnel, after in zip((relayed, forwarded), seen, strict=True):
            tunnel.wait_for("the tunnel was cut", after=after)
            tunnel.wait_for("the tunnel is open again", after=after)
        assert [get_page(one)[1] for one in (by_step, by_ssh)] == [b"hello from the node"] * 2

        assert forwarded.interrupt() == 130
        wait_until(lambda: not answers(by_ssh), "ssh lets go of the port")
        cancel_runs(session, [record])
        assert relayed.wait() == 7
        assert f"{record.run_id} is cancelled" in relayed.said


def find_master(host: SshHost) -> int:
    """The process behind the shared connection."""
    told = subprocess.run(["pgrep", "-f", f"ControlPath={host.master.path}.*-N"], capture_output=True, check=True)
    return int(told.stdout.split()[0])


def find_holder(port: int) -> str:
    """The name of the program that listens on a port of this machine, and that it does so on 127.0.0.1 alone."""
    told = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in told.splitlines() if "10.77." not in line]
    assert [line[3] for line in lines] == [f"127.0.0.1:{port}"]
    return lines[0][5].split('"')[1]


def answers(address: str) -> bool:
    try:
        get_page(address, timeout_s=2)
    except (URLError, OSError):
        return False
    return True
