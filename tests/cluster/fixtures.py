"""The fixture `slurm`: the real cluster, for one test session at a time."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster, reason_it_cannot_run

_LOCK = Path("/run/windlass-cluster-tests.lock")
_LONGEST_WAIT_S = 1800


@pytest.fixture(scope="session")
def slurm() -> Iterator[SlurmCluster]:
    """Leaves a cluster up that was up before, and any with WINDLASS_KEEP_CLUSTER=1."""
    reason = reason_it_cannot_run()
    if reason:
        pytest.skip(reason)
    cluster = SlurmCluster()
    with take_turn():
        is_ours = not cluster.is_up() and os.environ.get("WINDLASS_KEEP_CLUSTER") != "1"
        cluster.start()
        cluster.reset()
        yield cluster
        if is_ours:
            cluster.stop()
        else:
            cluster.reset()


@contextmanager
def take_turn() -> Iterator[None]:
    """Tests kill nodes and cancel jobs, so two sessions (or two xdist workers) must not share the cluster."""
    deadline = time.monotonic() + _LONGEST_WAIT_S
    with _LOCK.open("w") as lock:
        while not _is_locked_now(lock.fileno()):
            if time.monotonic() > deadline:
                pytest.fail(f"another test session has had the cluster for {_LONGEST_WAIT_S // 60} minutes")
            time.sleep(0.5)
        yield


def _is_locked_now(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
