"""Until when one can log in, by real certificates that ssh-keygen has signed, in files and in an agent."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from windlass.core.logins import LoginEnd, Validity, find_end, read_ssh_settings, read_tickets
from windlass.core.site import Login, Site
from windlass.edges.login_end import find_login_end
from windlass.edges.ssh_target import SshTarget

HOUR = 3600.0


class Keys:
    """A user's key and an authority that signs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        for name in ("ca", "id"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)

    def sign(self, validity: str, *more: str) -> None:
        argv = ["ssh-keygen", "-q", "-s", f"{self.folder}/ca", "-I", "ann", *more, "-V", validity]
        subprocess.run([*argv, f"{self.folder}/id.pub"], check=True)

    def look(self, *lines: str, environ: Mapping[str, str] | None = None, now: float | None = None) -> LoginEnd | None:
        config = self.folder / "config"
        config.write_text("\n".join(["Host site", f"IdentityFile {self.folder}/id", *lines, ""]))
        target = SshTarget(site=Site(name="hpc", login=Login(host="site")), config=config)
        return find_login_end(target, {**self.environ, **(environ or {})}, now or time.time())


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def test_a_certificate_beside_the_key_tells_its_end(keys: Keys) -> None:
    keys.sign("-1h:+20m")

    for zone in ("UTC", "Asia/Kolkata"):
        end = keys.look(environ={"TZ": zone})

        assert end is not None
        assert end.what == "certificate"
        assert end.until == pytest.approx(time.time() + 1200, abs=5)


def test_without_a_certificate_nothing_is_known(keys: Keys) -> None:
    assert keys.look() is None


@pytest.mark.parametrize("validity", ["always:forever", "-1h:forever", "+1h:+2h", "-2h:-1h"])
def test_one_that_never_ends_or_does_not_hold_is_no_end(keys: Keys, validity: str) -> None:
    keys.sign(validity)

    assert keys.look() is None


def test_a_certificate_of_a_host_is_not_the_users(keys: Keys) -> None:
    keys.sign("-1h:+20m", "-h")

    assert keys.look() is None


def test_a_certificate_that_the_configuration_names_counts(keys: Keys, tmp_path: Path) -> None:
    keys.sign("-1h:+5h")
    (tmp_path / "id-cert.pub").rename(tmp_path / "from-centre.pub")

    end = keys.look(f"CertificateFile {tmp_path}/from-centre.pub")

    assert end is not None
    assert end.until == pytest.approx(time.time() + 5 * HOUR, abs=5)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[str]:
    folder = Path("/tmp") / f"windlass-agent-{os.getpid()}"
    folder.mkdir(mode=0o700)
    process = subprocess.Popen(["ssh-agent", "-D", "-a", folder / "s"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while not (folder / "s").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    yield str(folder / "s")
    process.terminate()
    process.wait(10)
    shutil.rmtree(folder)


def test_a_certificate_in_the_agent_counts_where_the_agent_is_asked(keys: Keys, agent: str, tmp_path: Path) -> None:
    keys.sign("-1h:+2h")
    socket = {"SSH_AUTH_SOCK": agent}
    subprocess.run(["ssh-add", "-q", tmp_path / "id"], env={**keys.environ, **socket}, check=True)
    (tmp_path / "id-cert.pub").unlink()

    for end in (keys.look(environ=socket), keys.look(f"IdentityAgent {agent}")):
        assert end is not None
        assert end.until == pytest.approx(time.time() + 2 * HOUR, abs=5)
    assert keys.look("IdentitiesOnly yes", environ=socket) is None
    assert keys.look("IdentityAgent none", environ=socket) is None


TICKETS = """\
Ticket cache: FILE:/tmp/krb5cc_1000
Default principal: ann@EXAMPLE.ORG

Valid starting     Expires            Service principal
11/18/26 15:26:28  11/18/26 15:51:28  krbtgt/EXAMPLE.ORG@EXAMPLE.ORG
\trenew until 11/18/26 15:26:28
11/18/26 15:30:00  11/18/26 23:00:00  host/login.example.org@EXAMPLE.ORG
"""  # of MIT's klist 1.20.1
AT = 1795015588.0  # 2026-11-18 15:26:28 UTC


def test_a_ticket_of_kerberos_counts_where_ssh_uses_it(keys: Keys, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "klist"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{TICKETS}END\n")
    program.chmod(0o755)
    path = {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    assert read_tickets(TICKETS) == (Validity(begin=AT, end=AT + 1500),)
    end = keys.look("GSSAPIAuthentication yes", environ=path, now=AT + 10)
    assert end == LoginEnd(what="Kerberos ticket", until=AT + 1500)
    assert keys.look("GSSAPIAuthentication no", environ=path, now=AT + 10) is None
    assert keys.look("GSSAPIAuthentication yes", environ=path, now=AT + 2000) is None


def test_the_last_that_holds_counts_because_it_opens_the_door_too() -> None:
    soon, later = Validity(begin=0.0, end=100.0), Validity(end=900.0)

    assert find_end("certificate", [soon, later], 50.0) == LoginEnd(what="certificate", until=900.0)
    assert find_end("certificate", [soon, Validity()], 50.0) is None
    assert find_end("certificate", [], 50.0) is None


def test_any_settings_are_read() -> None:
    assert read_ssh_settings("") == read_ssh_settings("nonsense\n\n")
