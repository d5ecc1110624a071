"""A site on this machine with a wheelhouse of one wheel, `greet`, from which its environments are built."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.environments.wheelhouse import make_wheel
from windlass.app.session import Session
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site


@pytest.fixture
def session(tmp_path: Path, places: Places) -> Iterator[Session]:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    text = f'root = "{tmp_path}/root"\n[software]\nslurm_path = "@pocket"\nwheelhouse = "{tmp_path}/house"\n'
    add_site("lab", f"{text}[rules]\npoll_s = 1\n", find_folders(os.environ))
    make_wheel(tmp_path / "house", "greet", "1.5")
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    subprocess.run([places.pocket / "bin" / "scancel", "--me"], check=False, capture_output=True)
