"""A run with `pack = true`, from nothing: built, packed, and unpacked by every node; a pretended node and real ones."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from tests.environments.wheelhouse import make_wheel
from windlass import api
from windlass.app.environments.packing import pack_environment
from windlass.app.environments.registry import list_environments
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentNotFound

TRAIN = (
    "import os, sys, words\nprint(os.environ['SLURMD_NODENAME'], 'from', words.__file__, sys.executable, flush=True)\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("words\n")
    (folder / "train.py").write_text(TRAIN)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "packed"\ncommand = "python train.py"\nlauncher = "srun"\n[resources]\ntime = "5m"\ncpus = 1\n'
        'memory = "300M"\nnodes = 2\n[environment]\nvenv = "requirements.txt"\npack = true\n'
    )
    return folder


@pytest.fixture
def lab(tmp_path: Path, places: Places) -> Iterator[Session]:
    """Pocket as a site of its own."""
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 2\ncpus = 4\nmemory_mb = 4000\n")
    make_wheel(tmp_path / "house", "words")
    software = f'[software]\nslurm_path = "@pocket"\nwheelhouse = "{tmp_path}/house"\n'
    add_site("lab", f'root = "{tmp_path}/root"\n{software}[rules]\npoll_s = 1\n', find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    subprocess.run([places.pocket / "bin" / "scancel", "--me"], check=False, capture_output=True)


def test_a_run_that_wants_it_packs_its_environment_and_trains_on_the_node(lab: Session, project: Path) -> None:
    record = api.wait(api.run(project, on="lab", session=lab, resources__nodes=1), session=lab)

    words = api.logs(record, session=lab).decode()
    assert record.state is RunState.DONE, words
    assert len(re.findall(r"from \S+/windlass-\d+/packed\S+/env/lib/\S+ \S+/env/bin/python", words)) == 1, words
    (built,) = list_environments(lab, lab.site("lab"))
    assert built.packed == f"{lab.site('lab').root}/envs/{built.id}/env.tar"
    assert not pack_environment(lab, lab.site("lab"), built.id).is_new
    with pytest.raises(EnvironmentNotFound, match="lab has no environment 'venv-nothing'"):
        pack_environment(lab, lab.site("lab"), "venv-nothing")


@pytest.fixture
def cluster(slurm: SlurmCluster, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """The real one, as alice through ssh."""
    slurm.reset()
    root = slurm.home("alice") / f"packing-{os.getpid()}"
    make_wheel(root / "house", "words")
    for path in (root, *root.rglob("*")):
        shutil.chown(path, "alice")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    site = (
        f'root = "{root}"\n[login]\nhost = "login"\n[software]\nwheelhouse = "{root}/house"\n'
        "[rules]\npoll_s = 1\n[partition.dev]\nis_default = true\n"
    )
    add_site("real", site, find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    slurm.reset()
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.slurm
def test_real_nodes_read_it_once_and_keep_nothing(cluster: Session, project: Path, slurm: SlurmCluster) -> None:
    record = api.wait(api.run(project, on="real", session=cluster, resources__partition="dev"), session=cluster)

    words = api.logs(record, session=cluster).decode()
    assert record.state is RunState.DONE, words
    found = re.findall(r"(node\d) from /localscratch/\S+/env/lib/\S+ /localscratch/\S+/env/bin/python", words)
    assert len(set(found)) == 2, words
    (built,) = list_environments(cluster, cluster.site("real"))
    size = Path(built.packed or "").stat().st_size
    assert "the environment is on every node after" in words
    events = (Path(record.folder) / "events.jsonl").read_text()
    assert f'"read": {size}' in events
    assert f'"received": {size}' in events
    slurm.wait_until_idle()
    left = "ls -d /tmp/windlass-* /dev/shm/windlass-* /localscratch/* 2>/dev/null || true"
    assert [slurm.run_on_node(int(name[-1]), left).stdout for name in found] == ["", ""]
