"""A certificate that is about to end is an alarm of everybody who watches."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import RECORD
from tests.conftest import Places
from windlass.app.session import Session
from windlass.app.watching.logins import load_login_end, note_login_end, note_login_end_now
from windlass.app.watching.reading_runs import RunReader
from windlass.app.watching.reading_today import load_alarms
from windlass.app.watching.watch import Watch
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site


def test_it_is_told_until_it_is_renewed(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ca", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    sign = ["ssh-keygen", "-q", "-s", str(tmp_path / "ca"), "-I", "ann", "-V"]
    (tmp_path / "ssh_config").write_text(f"Host hpc\nIdentityFile {tmp_path}/id\nIdentityAgent none\n")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(tmp_path / "ssh_config"))
    add_site("far", '[login]\nhost = "hpc"\n', find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as session:
        watch = Watch(session)
        record = replace(RECORD, site="far")

        def tell() -> list[str]:
            return [one.message for one in load_alarms(watch, RunReader(watch), [record]) if one.kind == "login"]

        subprocess.run([*sign, "-1h:+1210s", tmp_path / "id.pub"], check=True)
        note_login_end(session, "far")
        (message,) = tell()
        assert message.startswith("your certificate for far ends in 20 min")

        subprocess.run([*sign, "-1h:+8h", tmp_path / "id.pub"], check=True)
        note_login_end(session, "far")  # too early to look again
        assert len(tell()) == 1
        note_login_end_now(session, "far")  # as `windlass login` does
        assert tell() == []
        assert load_login_end(session, "far") is not None
