"""Data over real ssh: by the transfer host and not the login host, in two hops, over ways that are long or break."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.transfers import SHARD, list_visible, make_files, make_ssh_site, open_site, read_set
from tests.conftest import Places
from tests.edges.proxy import run_proxy
from tests.edges.sshd import Sshd, run_sshd
from tests.waiting import wait_until
from windlass.app.data.getting import get
from windlass.app.data.rsync_sends import make_rsync
from windlass.app.data.sending import SendOptions, send
from windlass.core.site import Software
from windlass.errors import ConnectionLost, SiteNotReady, TransferFailed

SMALL = SendOptions(shard_bytes=SHARD, tries=1)
# The program that is killed: sends, and says how far it is.
SENDING = """
import os, sys; from pathlib import Path
from windlass.app.session import Session; from windlass.app.data.sending import send, SendOptions
from windlass.edges.folders import find_folders; from windlass.core.site import Login, Site
site = Site(name="hpc", root=sys.argv[1], login=Login(host="site"))
with Session(folders=find_folders(os.environ), environ=os.environ) as session:
    send(session, site, Path(sys.argv[2]), "pets", options=SendOptions(shard_bytes=1 << 20, tries=1))
"""


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with run_sshd(tmp_path_factory.mktemp("login")) as server:
        yield server


@pytest.fixture(scope="module")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with run_sshd(tmp_path_factory.mktemp("transfer"), address="127.0.0.2") as server:
        yield server


@pytest.fixture
def config(login: Sshd, transfer: Sshd, tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`site` is the login host, `dtn` the transfer host."""
    known = tmp_path / "known_hosts"
    known.write_text("".join(f"[{one.address}]:{one.port} {one.host_key}\n" for one in (login, transfer)))
    path = tmp_path / "ssh_config"
    lines = [*login.make_lines("site", known_hosts=known), *transfer.make_lines("dtn", known_hosts=known)]
    path.write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


def test_the_transfer_host_is_used_and_the_login_host_is_not(
    login: Sshd, transfer: Sshd, config: Path, source: Path, tmp_path: Path
) -> None:
    made = make_files(source)
    site = make_ssh_site(tmp_path / "root", transfer_host="dtn")
    before = login.count_logins(), transfer.count_logins()

    with open_site(site) as session:
        sent = send(session, site, source, "pets", options=SMALL)
        get(session, site, "pets", tmp_path / "back")

    assert read_set(tmp_path / "root/data/pets") == made
    assert read_set(tmp_path / "back") == made
    assert sent.host == "dtn"
    assert (login.count_logins(), transfer.count_logins()) == (before[0], before[1] + 1)


def test_rsync_is_given_a_path_without_variables(login: Sshd, config: Path, source: Path, tmp_path: Path) -> None:
    site = make_ssh_site(tmp_path / "root")

    with open_site(site) as session:
        argv = make_rsync(session, site, source, "$HOME/plain/pets")

    assert argv[-1].startswith("site:/")
    assert argv[-1].endswith("/plain/pets/")
    assert "$" not in argv[-1]


@pytest.mark.parametrize("name", ["a:b", "-n"])
def test_rsync_takes_no_name_for_a_host_or_an_option(
    login: Sshd, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()

    with open_site(make_ssh_site(tmp_path / "root")) as session:
        argv = make_rsync(session, make_ssh_site(tmp_path / "root"), Path(name), "/far/pets")

    assert argv[-2] == f"{tmp_path}/{name}/"


def test_in_two_hops_the_login_node_takes_it_on_and_the_landing_place_is_removed(
    login: Sshd, transfer: Sshd, config: Path, source: Path, tmp_path: Path
) -> None:
    made = make_files(source)
    landing = tmp_path / "landing"
    landing.mkdir()
    site = make_ssh_site(tmp_path / "root", transfer_host="dtn", transfer_root=str(landing))

    with open_site(site) as session:
        first = send(session, site, source, "pets", options=SMALL)
        (source / "cats/0001.jpg").write_bytes(b"another cat")
        second = send(session, site, source, "pets", options=SMALL)
        get(session, site, "pets", tmp_path / "back")

    made[b"cats/0001.jpg"] = b"another cat"
    assert read_set(tmp_path / "root/data/pets") == made
    assert read_set(tmp_path / "back") == made
    assert list(landing.iterdir()) == []
    assert second.sent_bytes < first.sent_bytes / 50


def test_in_two_hops_a_get_that_fails_leaves_nothing_at_the_landing_place(
    login: Sshd, transfer: Sshd, config: Path, source: Path, tmp_path: Path
) -> None:
    make_files(source)
    (tmp_path / "landing").mkdir()
    site = make_ssh_site(tmp_path / "root", transfer_host="dtn", transfer_root=str(tmp_path / "landing"))

    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)
        with (tmp_path / "root/data/pets/shard-00000.tar").open("r+b") as file:
            file.seek(5000)
            file.write(b"\0\1\2\3")
        with pytest.raises(TransferFailed, match="damaged at the site"):
            get(session, site, "pets", tmp_path / "back")

    assert list((tmp_path / "landing").iterdir()) == []


def test_in_two_hops_a_cut_is_gone_on_from(config: Path, source: Path, tmp_path: Path, transfer: Sshd) -> None:
    made = make_files(source, count=250)
    landing = tmp_path / "landing"
    landing.mkdir()
    site = make_ssh_site(tmp_path / "root", transfer_host="dtn", transfer_root=str(landing))
    with open_site(site) as session, _cut(config, transfer, 20_000_000), pytest.raises(ConnectionLost):
        send(session, site, source, "pets", options=SMALL)

    with open_site(site) as session:
        again = send(session, site, source, "pets", options=SMALL)

    assert read_set(tmp_path / "root/data/pets") == made
    assert again.sent_bytes < sum(map(len, made.values())) - 8_000_000
    assert list(landing.iterdir()) == []


@pytest.mark.parametrize("cut_after", [400_000, 14_000_000, 22_000_000])
def test_a_cut_connection_is_gone_on_from(
    login: Sshd, config: Path, source: Path, tmp_path: Path, cut_after: int
) -> None:
    made = make_files(source, count=250)
    site = make_ssh_site(tmp_path / "root")
    there = tmp_path / "root/data/pets"
    with _cut(config, login, cut_after), open_site(site) as session, pytest.raises(ConnectionLost) as caught:
        send(session, site, source, "pets", options=SMALL)
    assert "goes on from there" in (caught.value.done or "")
    assert "dataset.json" not in list_visible(there)

    with open_site(site) as session:
        again = send(session, site, source, "pets", options=SMALL)

    assert read_set(there) == made
    lost = 9_000_000  # in the buffers of two connections and a session, when they broke
    assert again.sent_bytes < sum(map(len, made.values())) * 1.02 - max(0, cut_after - lost)


def test_a_connection_that_breaks_now_and_then_is_opened_again(
    login: Sshd, config: Path, source: Path, tmp_path: Path
) -> None:
    made = make_files(source)
    site = make_ssh_site(tmp_path / "root")

    with _cut(config, login, 3_000_000, cuts=2), open_site(site) as session:
        send(session, site, source, "pets", options=replace(SMALL, tries=4))

    assert read_set(tmp_path / "root/data/pets") == made


def test_a_cut_while_getting_is_gone_on_from(login: Sshd, config: Path, source: Path, tmp_path: Path) -> None:
    made = make_files(source, count=250)
    site = make_ssh_site(tmp_path / "root")
    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)
    with _cut(config, login, 14_000_000), open_site(site) as session, pytest.raises(ConnectionLost) as caught:
        get(session, site, "pets", tmp_path / "back")
    assert "goes on from there" in (caught.value.done or "")
    assert "dataset.json" not in list_visible(tmp_path / "back")

    with open_site(site) as session:
        again = get(session, site, "pets", tmp_path / "back")

    assert read_set(tmp_path / "back") == made
    assert 0 < again.fetched_bytes < sum(map(len, made.values())) - 5_000_000


def test_a_source_that_changed_after_a_cut_is_sent_as_it_is_now(
    login: Sshd, config: Path, source: Path, tmp_path: Path
) -> None:
    make_files(source)
    site = make_ssh_site(tmp_path / "root")
    with _cut(config, login, 1_500_000), open_site(site) as session, pytest.raises(ConnectionLost):
        send(session, site, source, "pets", options=SMALL)
    made = make_files(source, seed=2)

    with open_site(site) as session:
        send(session, site, source, "pets", options=SMALL)

    assert read_set(tmp_path / "root/data/pets") == made


def test_a_long_way_is_filled_by_several_sessions(login: Sshd, config: Path, source: Path, tmp_path: Path) -> None:
    made = make_files(source)
    site = make_ssh_site(tmp_path / "root")

    with run_proxy(login.port, delay_s=0.01) as port, open_site(site) as session:
        _go_through(config, login, port)
        before = login.log.count("Starting session")
        send(session, site, source, "pets", options=SMALL)

    assert read_set(tmp_path / "root/data/pets") == made
    assert login.log.count("Starting session") - before == 4


@pytest.mark.parametrize("seed", range(4))
def test_a_sender_that_is_killed_is_gone_on_from(
    login: Sshd, config: Path, source: Path, tmp_path: Path, seed: int
) -> None:
    made = make_files(source, count=200)
    site = make_ssh_site(tmp_path / "root")
    there = tmp_path / "root/data/pets"
    sender = subprocess.Popen([sys.executable, "-c", SENDING, str(tmp_path / "root"), str(source)])
    wait_until(lambda: (there / ".sending").exists() or sender.poll() is not None, "the sending", pause_s=0.002)
    time.sleep(random.Random(seed).uniform(0, 0.3))
    sender.send_signal(signal.SIGKILL)
    sender.wait()
    was_finished = (there / "dataset.json").exists()

    with open_site(site) as session:
        again = send(session, site, source, "pets", options=SMALL)

    assert read_set(there) == made
    assert again.is_unchanged is was_finished
    assert not (there / ".sending").exists()


@pytest.mark.parametrize("seed", range(4))
def test_a_receiver_that_is_killed_is_gone_on_from(
    login: Sshd, config: Path, source: Path, tmp_path: Path, seed: int
) -> None:
    made = make_files(source, count=200)
    site = make_ssh_site(tmp_path / "root")
    there = tmp_path / "root/data/pets"
    chance = random.Random(seed)
    with open_site(site) as session:
        stop_at = chance.uniform(0.05, 0.95)

        def kill(done: int, total: int) -> None:
            if done > stop_at * total and (there / ".sending/lock").exists():
                _kill_holder(there)

        with pytest.raises(ConnectionLost):
            send(session, site, source, "pets", options=SMALL, progress=kill)
        assert "dataset.json" not in list_visible(there)

        again = send(session, site, source, "pets", options=SMALL)

    assert read_set(there) == made
    assert again.sent_bytes < sum(map(len, made.values()))


def test_a_byte_that_flips_on_the_way_is_refused(login: Sshd, config: Path, source: Path, tmp_path: Path) -> None:
    make_files(source)
    flipper = tmp_path / "python-behind-a-bad-wire"
    flipper.write_text(FLIPPER.replace("PYTHON", sys.executable))
    flipper.chmod(0o755)
    site = replace(make_ssh_site(tmp_path / "root"), software=Software(python=str(flipper)))

    with open_site(site) as session, pytest.raises(TransferFailed, match=r"shard-\d+.tar arrived damaged"):
        send(session, site, source, "pets", options=replace(SMALL, streams=1))

    assert "dataset.json" not in list_visible(tmp_path / "root/data/pets")


def test_no_python_at_the_other_end_is_told(login: Sshd, config: Path, source: Path, tmp_path: Path) -> None:
    make_files(source, count=1)
    site = replace(make_ssh_site(tmp_path / "root"), software=Software(python="python9"))

    with open_site(site) as session, pytest.raises(SiteNotReady, match="there is no python9") as caught:
        send(session, site, source, "pets")

    assert "[software] python" in (caught.value.hint or "")


def test_a_host_that_allows_one_session_gets_one(source: Path, config: Path, tmp_path: Path) -> None:
    made = make_files(source)
    site = make_ssh_site(tmp_path / "root")
    with run_sshd(tmp_path / "narrow", ["MaxSessions 1"]) as server, open_site(site) as session:
        _go_through(config, server, server.port)

        send(session, site, source, "pets", options=SMALL)

    assert read_set(tmp_path / "root/data/pets") == made


# Passes its input on to the real one, with one bit of what lies between two megabytes changed in each.
FLIPPER = """#!/bin/sh
exec PYTHON -c '
import os, subprocess, sys
child = subprocess.Popen(["PYTHON", *sys.argv[1:]], stdin=subprocess.PIPE, bufsize=0)
passed = 0
while piece := os.read(0, 65536):
    piece = bytearray(piece)
    at = 500_000 - passed % 700_000
    if passed > 100_000 and 0 <= at < len(piece):
        piece[at] ^= 1
    passed += len(piece)
    child.stdin.write(piece)
child.stdin.close()
sys.exit(child.wait())
' "$@"
"""


def _go_through(config: Path, server: Sshd, port: int) -> None:
    """Host keys are known by their port: the way is another one, the host is the same."""
    lines = [f"HostKeyAlias {server.folder.name}", f"Port {port}"]
    known = config.with_name("known_hosts")
    known.write_text(known.read_text() + f"{server.folder.name} {server.host_key}\n")
    old = config.read_text()
    name = "dtn" if server.address != "127.0.0.1" else "site"
    inner = [line for line in server.make_lines(name, known_hosts=known) if not line.startswith("Port")]
    inner[1] = "HostName 127.0.0.1"
    config.write_text("\n".join([inner[0], *lines, *inner[1:]]) + "\n" + old)


class _cut:
    """Within the block every connection to the server breaks after so many bytes."""

    def __init__(self, config: Path, server: Sshd, cut_after: int, *, cuts: int = 1000) -> None:
        self._config = config
        self._old = config.read_text()
        self._server = server
        self._proxy = run_proxy(server.port, host=server.address, cut_after=cut_after, cuts=cuts)

    def __enter__(self) -> None:
        _go_through(self._config, self._server, self._proxy.__enter__())

    def __exit__(self, *_: object) -> None:
        self._config.write_text(self._old)
        self._proxy.__exit__(None, None, None)


def _kill_holder(there: Path) -> None:
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(int(json.loads((there / ".sending/lock").read_text())["pid"]), signal.SIGKILL)
