"""A site behind a real ssh that is on this machine, with pocket as its Slurm: its network can be taken away."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.edges.sshd import Sshd, find_free_port, run_sshd
from windlass.app.session import Session
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.edges.ssh_host import SshHost

NAME = "far"
_SITE = """
root = "{root}"
[login]
host = "site"
[partition.pocket]
is_default = true
[rules]
needs_account = false
compute_internet = true
poll_s = 1
{rules}
[software]
modules = "none"
slurm_path = "@pocket"
"""


class FarSite:
    def __init__(self, server: Sshd, config: Path) -> None:
        self._server, self._config = server, config
        self._good = config.read_text()

    def cut_off(self, session: Session) -> None:
        """No network: the shared connection is gone, and where the login node was, nobody answers."""
        self._config.write_text(self._good.replace(f"Port {self._server.port}", f"Port {find_free_port()}"))
        host = session.host(session.site(NAME))
        assert isinstance(host, SshHost)
        subprocess.run(["pkill", "-9", "-f", f"ControlPath={host.master.path}.*-N"], check=True)

    def come_back(self) -> None:
        self._config.write_text(self._good)


@contextmanager
def far_site(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch, *, rules: str = ""
) -> Iterator[tuple[FarSite, Session]]:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    with run_sshd(tmp_path / "sshd") as server:
        monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(server.config))
        environ = {**places.env, "WINDLASS_SSH_CONFIG": str(server.config)}
        folders = find_folders(environ)
        add_site(NAME, _SITE.format(root=tmp_path / "root", rules=rules), folders)
        with Session(folders=folders, environ=environ) as session:
            yield FarSite(server, server.config), session
            host = session.host(session.site(NAME))
            assert isinstance(host, SshHost)
            subprocess.run([places.pocket / "bin" / "scancel", "--me"], check=False, capture_output=True)
            host.close_master()
        shutil.rmtree(tmp_path / "root", ignore_errors=True)
