"""What tests of jobs share."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.job.harness import OLDEST_AND_NEWEST, Job
from tests.job.trainings import Home
from windlass.edges.job_zip import make_job_zip

GB = 10**9
NO_AUTO = {"memory_bytes": 10 * GB, "node_bytes": 100 * GB}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.stop()


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def make_job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Job]]:
    """A job on one node that stages data, and leaves nothing there."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def make(*sets: dict[str, Any], source: Path, **more: Any) -> Job:
        plan = {"sets": list(sets), "scratch": "$MY_SCRATCH", **NO_AUTO, **more}
        job = Job(tmp_path, python=request.param, options=(f"--data={json.dumps(plan)}",))
        job.folder.mkdir()
        (job.folder / "windlass_job.pyz").write_bytes(make_job_zip())
        job.env = {"SLURM_JOB_ID": str(os.getpid()), "MY_SCRATCH": str(scratch), "WINDLASS_DATA_SET": str(source)}
        return job

    yield make
    assert list(scratch.rglob("*")) == [], "something was left on the node"
