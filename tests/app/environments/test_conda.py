"""A training in a conda environment on the real Slurm: built on the login node, from a shell that has none of it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import rattler

from tests.cluster.cluster import SlurmCluster
from tests.environments.conda_channel import PYTHON
from tests.environments.conda_site import CLIENT, make_test_channel, make_yaml
from windlass.app.environments.ensuring import ensure_environment
from windlass.app.environments.locking import lock_built
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.core.run import Environment
from windlass.core.toml.layers import Flag
from windlass.edges.site_files import add_site
from windlass.errors import EnvironmentFailed, EnvironmentNotFound

pytestmark = pytest.mark.parametrize("session", [pytest.param("slurm-ssh", marks=pytest.mark.slurm)], indirect=True)

TRAINING = "import net, os, sys\nnet.train()\nprint(sys.prefix, os.environ['NET_HOME'], sys.flags.no_user_site)\n"


@pytest.fixture
def shared(slurm: SlurmCluster) -> Iterator[Path]:
    """A folder that every node sees, with a client that a module brings and a channel."""
    folder = slurm.root / "home" / f"conda-{os.getpid()}"
    module = slurm.root / "modules" / "core" / "tinyforge" / "1.0.lua"
    shutil.copytree(Path(rattler.__file__).parent, folder / "packages" / "rattler")
    shutil.copy(CLIENT, folder / "client.py")
    client = folder / "bin" / "micromamba"
    client.parent.mkdir()
    client.write_text(f'#!/bin/sh\nPYTHONPATH={folder}/packages exec {PYTHON} {folder}/client.py micromamba "$@"\n')
    client.chmod(0o755)
    module.parent.mkdir()
    module.write_text(f'prepend_path("PATH", "{client.parent}")\n')
    yield folder
    shutil.rmtree(module.parent)
    shutil.rmtree(folder)


def _add_site(session: Session) -> None:
    """The same cluster, whose file knows of its modules."""
    text = session.folders.sites.joinpath("slurm-ssh.toml").read_text()
    add_site("forge", f'{text}[software]\nmodules = "lmod"\npurge_modules = true\n', session.folders)


def _make_project(folder: Path, shared: Path, *packages: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "train.py").write_text(TRAINING)
    (folder / "environment.yml").write_text(make_yaml(f"file://{shared}/channel", *packages))
    (folder / "windlass.toml").write_text(
        '[run]\nname = "conda"\ncommand = "python train.py"\n[resources]\ntime = "2m"\ncpus = 1\nmemory = "200M"\n'
        '[environment]\nconda = "environment.yml"\nmodules = ["tinyforge/1.0"]\n'
    )
    return folder


def _train(session: Session, project: Path, **settings: str) -> list[str]:
    flags = tuple(Flag(key=f"environment.{key}", value=value) for key, value in settings.items())
    wanted = Wanted(project=project, site="forge", flags=flags, may_build=True)
    planned = ensure_environment(session, wanted, plan_run(session, wanted))
    record = start_run(session, planned)
    ended = wait(session, record)
    words = b"".join(read_log(session, record)).decode()
    assert ended.state is RunState.DONE, words
    return words.splitlines()


def test_a_training_runs_in_it_from_a_shell_that_has_none_of_it(
    session: Session, slurm: SlurmCluster, shared: Path, tmp_path: Path
) -> None:
    _add_site(session)
    make_test_channel(shared / "channel")
    project = _make_project(tmp_path / "project", shared, "python", "net")
    assert slurm.run_as("alice", "command -v conda micromamba mamba", check=False).returncode, "nothing is loaded"

    words = _train(session, project)

    said = words.index("trained by net 1.0")
    prefix, net_home, no_user_site = words[said + 1].split()
    assert prefix.startswith(f"{slurm.root}/home/story-{os.getpid()}/envs/conda-")
    assert (net_home, no_user_site) == (f"{prefix}/net", "1")
    assert not (slurm.home("alice") / ".conda").exists()

    # Exactly these packages are built again from a list that no client was needed for.
    conda = Environment(conda="environment.yml", modules=("tinyforge/1.0",))
    locked = lock_built(session, session.site("forge"), conda, project, project / "conda.lock")
    assert (locked.count, locked.left_out) == (3, ())
    assert "trained by net 1.0" in _train(session, project, conda="conda.lock")

    # What is there can be named: by its folder, or as conda knows it.
    named = slurm.home("alice") / "micromamba" / "envs" / "trained"
    slurm.run_as("alice", f"mkdir -p {named.parent} && ln -s {prefix} {named}")
    try:
        assert "trained by net 1.0" in _train(session, project, conda="trained")
        named_by = lock_built(
            session, session.site("forge"), Environment(conda="trained"), project, tmp_path / "own.lock"
        )
        assert (named_by.source, named_by.count) == ("trained", 3)
        with pytest.raises(EnvironmentNotFound, match="is called trainde") as missing:
            _train(session, project, conda="trainde")
        assert "those found: trained" in str(missing.value)
    finally:
        slurm.run_as("alice", f"rm -r {named.parent.parent}")

    # A broken build is told, and the run that asks for it is not submitted.
    _make_project(project, shared, "python", "net", "torch-of-nobody")
    with pytest.raises(EnvironmentFailed, match="No candidates were found for torch-of-nobody"):
        _train(session, project)
