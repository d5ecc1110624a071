"""MPI where srun offers none, as on a laptop: mpirun starts it; and how a wrong --mpi= shows."""

from pathlib import Path

import pytest

from tests.pocket.conftest import Pocket, pocket
from windlass.edges.job_zip import make_job_zip

__all__ = ["pocket"]

TELL = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.Get_rank(), "of", world.Get_size(), "by MPI, and", os.environ["RANK"], flush=True)
"""
# An MPI that was built without Slurm, as those that come from a package index.
DEAF = """#!/bin/bash
unset ${{!SLURM_*}} ${{!PMI*}}
exec {python} "$@"
"""
TRY = "import os; from windlass_job.starting import mpi; print(*mpi.try_kind('pmix', './deaf', os.environ))"
# Rank 0 plays the end of time: the agent is the parent of mpirun, which is the parent of the rank's first process.
SAVING = """
trap 'echo saved $RANK; exit 0' TERM
touch up.$RANK
if [ $RANK = 0 ]; then
  until [ -e up.1 ]; do sleep 0.05; done
  mpirun=$(ps -o ppid= -p $PPID)
  kill -USR1 $(ps -o ppid= -p $mpirun)
fi
while true; do sleep 0.05; done
"""


@pytest.fixture
def home(pocket: Pocket, python: Path) -> Path:
    (pocket.folder / "job.pyz").write_bytes(make_job_zip())
    (pocket.folder / "tell.py").write_text(TELL)
    (pocket.folder / "deaf").write_text(DEAF.format(python=python))
    (pocket.folder / "deaf").chmod(0o755)
    return pocket.folder


def test_mpirun_starts_the_ranks_where_srun_cannot(pocket: Pocket, home: Path, python: Path) -> None:
    ours = ("python3", "-I", "job.pyz")
    step = ("srun", "--kill-on-bad-exit=1", *ours, "rank-env", "--world", "mpi", "--", str(python), "tell.py")

    done = pocket.run("salloc", "-n2", *ours, "mpi", "--processes", "2", "--try-with", str(python), "--", *step)

    assert sorted(done.stdout.splitlines()) == ["rank 0 of 2 by MPI, and 0", "rank 1 of 2 by MPI, and 1"]
    assert "mpirun: srun offers no MPI" in done.stderr


def test_every_rank_of_mpirun_is_told_to_stop(pocket: Pocket, home: Path) -> None:
    ours = ("python3", "-I", "job.pyz")
    (home / "saving").write_text(SAVING)
    step = ("srun", *ours, "rank-env", "--world", "mpi", "--", "bash", "saving")

    done = pocket.run("salloc", "-n2", *ours, "agent", "--", *ours, "mpi", "--processes", "2", "--", *step)

    assert sorted(done.stdout.splitlines()) == ["saved 0", "saved 1"]


def test_processes_that_do_not_see_each_other_are_found_out(pocket: Pocket, home: Path) -> None:
    done = pocket.run("salloc", "-n2", "python3", "-c", TRY, variables={"PYTHONPATH": str(home / "job.pyz")})

    assert done.stdout == "False every process believes to be rank 0 of 1\n"
