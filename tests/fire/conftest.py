"""A field for a battle on each engine, with a small disk of its own for the checkpoints."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.app.conftest import session, site_name
from tests.cluster.cluster import NODES, SlurmCluster
from tests.conftest import Places
from tests.fire.field import Field, PocketField, SlurmField

__all__ = ["field", "session", "site_name"]

_DISK = "size=8m,mode=777"


@pytest.fixture
def field(request: pytest.FixtureRequest, places: Places, tmp_path: Path, site_name: str) -> Iterator[Field]:
    request.getfixturevalue("session")
    if os.getuid() != 0:
        pytest.skip("only root can make the small disk that blows fill up")
    if site_name == "here":
        with mount_small_disk(tmp_path / "disk") as disk:
            yield PocketField(disk=disk, slurm_bin=places.pocket / "bin")
        return
    cluster: SlurmCluster = request.getfixturevalue("slurm")
    with mount_small_disk(cluster.root / "home" / f"fire-{os.getpid()}") as disk:
        restart_nodes(cluster)  # they see what is mounted when they start
        yield SlurmField(disk=disk, cluster=cluster)
        cluster.reset()
        for number in range(1, len(NODES) + 1):
            cluster.kill_node(number)  # lets go of the disk
    cluster.reset()


@contextmanager
def mount_small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", _DISK, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


def restart_nodes(cluster: SlurmCluster) -> None:
    for number in range(1, len(NODES) + 1):
        cluster.kill_node(number)
        cluster.start_node(number)
    cluster.reset()
