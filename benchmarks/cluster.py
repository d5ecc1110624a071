"""The test cluster for benchmarks: the real Slurm of tests/cluster, alone for as long as it is measured."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.cluster import SlurmCluster, reason_it_cannot_run
from tests.cluster.fixtures import take_turn


def find_cluster() -> SlurmCluster | str:
    """Or why there is none: it is not started for this."""
    reason = reason_it_cannot_run()
    if reason:
        return reason
    cluster = SlurmCluster()
    return cluster if cluster.is_up() else "the test cluster is not up (tests/cluster/up.sh)"


@contextmanager
def hold_cluster(cluster: SlurmCluster) -> Iterator[None]:
    """No test session kills its nodes meanwhile."""
    with take_turn():
        cluster.reset()
        yield
        cluster.cancel_all()
