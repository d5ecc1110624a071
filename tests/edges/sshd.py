"""An sshd of our own on a loopback port, for one test: keys, host key and configuration in a folder."""

import getpass
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waiting import wait_until


@dataclass(frozen=True, kw_only=True)
class Sshd:
    folder: Path
    port: int
    address: str = "127.0.0.1"

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def log(self) -> str:
        return (self.folder / "sshd.log").read_text()

    def count_logins(self) -> int:
        return self.log.count("Accepted publickey")

    def make_lines(self, names: str, *, known_hosts: Path, key: str = "user") -> list[str]:
        """How a client reaches this one, under these names."""
        return [
            f"Host {names}",
            f"HostName {self.address}",
            f"Port {self.port}",
            f"User {getpass.getuser()}",
            f"IdentityFile {self.folder / key}",
            "IdentitiesOnly yes",
            "IdentityAgent none",
            f"UserKnownHostsFile {known_hosts}",
            "GlobalKnownHostsFile /dev/null",
        ]

    def write_config(self, *lines: str, known: str | None = None, key: str = "user") -> Path:
        """The client's configuration for the host `site`, also called `gate`; extra lines come first, so they win."""
        known_hosts = self.folder / "known_hosts"
        known_hosts.write_text(f"[{self.address}]:{self.port} {known}\n" if known is not None else "")
        text = [*lines, *self.make_lines("site gate", known_hosts=known_hosts, key=key)]
        self.config.write_text("\n".join(text) + "\n")
        return self.config

    @property
    def host_key(self) -> str:
        return read_public(self.folder / "host")


def skip_without_sshd() -> str:
    found = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/opt/homebrew/sbin")
    if found is None:
        pytest.skip("sshd is not installed")
    if shutil.which("ssh") is None:
        pytest.skip("ssh is not installed")
    return found


@contextmanager
def run_sshd(folder: Path, options: Sequence[str] = (), *, address: str = "127.0.0.1") -> Iterator[Sshd]:
    program = skip_without_sshd()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    server = Sshd(folder=folder, port=find_free_port(), address=address)
    (folder / "authorized_keys").write_text((folder / "user.pub").read_text())
    lines = [
        *options,
        f"Port {server.port}",
        f"ListenAddress {address}",
        f"HostKey {folder / 'host'}",
        f"AuthorizedKeysFile {folder / 'authorized_keys'}",
        f"PidFile {folder / 'pid'}",
        "StrictModes no",
        "PermitRootLogin yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "LogLevel VERBOSE",
        "MaxStartups 100",
        "LoginGraceTime 600",
    ]
    (folder / "sshd_config").write_text("\n".join(lines) + "\n")
    with open(folder / "sshd.log", "w") as log:
        process = subprocess.Popen(
            [program, "-D", "-e", "-f", folder / "sshd_config"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        # Its own word, not a connection: another process may have taken the port meanwhile, and would answer too.
        wait_until(lambda: process.poll() is not None or "Server listening" in server.log, "sshd", pause_s=0.02)
        if process.poll() is not None:
            pytest.skip(f"sshd does not start here: {server.log.strip()}")
        server.write_config(known=server.host_key)
        yield server
    finally:
        process.terminate()
        process.wait()


def read_public(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
