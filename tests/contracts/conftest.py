"""A host of every kind, and a folder there."""

from collections.abc import Iterator

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.contracts.host_requests import run
from windlass.core.site import Login, Site
from windlass.edges.host import Host
from windlass.edges.local_host import LocalHost
from windlass.edges.ssh_host import SshHost


@pytest.fixture(
    scope="module",
    params=[
        "local",
        pytest.param("login-direct", marks=pytest.mark.slurm),
        pytest.param("login", marks=pytest.mark.slurm),
    ],
)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    if request.param == "local":
        local = LocalHost()
        yield local
        local.close()
        return
    cluster: SlurmCluster = request.getfixturevalue("slurm")
    runtime = tmp_path_factory.mktemp("r")
    site = Site(name=request.param, login=Login(host=request.param))
    remote = SshHost(site, config=cluster.ssh_config, runtime=runtime)
    yield remote
    remote.close_master()


@pytest.fixture
def folder(host: Host) -> Iterator[str]:
    path = run(host, "mktemp", "-d").out.strip()
    yield path
    run(host, "rm", "-r", path)
