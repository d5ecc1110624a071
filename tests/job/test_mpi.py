"""Which --mpi= srun is started with."""

import subprocess
import sys
from pathlib import Path

import pytest

from windlass.edges.job_zip import make_job_zip
from windlass_job.starting.mpi import order_kinds, read_kinds

# What `srun --mpi=list` of these versions prints.
OF_22_05 = """MPI plugin types are...
\tpmix
\tnone
\tcray_shasta
\tpmi2
specific pmix plugin versions available: pmix_v4
"""
OF_18_08 = """srun: MPI types are...
srun: none
srun: pmi2
srun: openmpi
"""


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (OF_22_05, ["pmix", "none", "cray_shasta", "pmi2"]),
        (OF_18_08, ["none", "pmi2", "openmpi"]),
        ("srun: error: Unable to contact slurm controller\n", []),
        ("", []),
    ],
)
def test_what_slurm_offers_is_read(text: str, kinds: list[str]) -> None:
    assert read_kinds(text) == kinds


@pytest.mark.parametrize(
    ("env", "first"),
    [({}, "pmix"), ({"I_MPI_ROOT": "/opt/intel"}, "pmi2"), ({"CRAY_MPICH_VERSION": "8"}, "cray_shasta")],
)
def test_the_mpi_of_a_module_says_what_is_likely(env: dict[str, str], first: str) -> None:
    kinds = order_kinds(read_kinds(OF_22_05), env)

    assert kinds[0] == first
    assert sorted(kinds) == ["cray_shasta", "pmi2", "pmix"]


def test_what_leaves_mpi_to_itself_is_never_taken() -> None:
    assert order_kinds(["none", "openmpi"], {}) == []


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"SLURM_MPI_TYPE": "pmi2"}, "--kill-on-bad-exit=1 rank-env\n"),
        ({}, "--mpi=pmix --kill-on-bad-exit=1 rank-env\n"),
    ],
    ids=["the user's word", "ours"],
)
def test_srun_is_started_with_it(tmp_path: Path, env: dict[str, str], said: str) -> None:
    (tmp_path / "job.pyz").write_bytes(make_job_zip())
    listing = tmp_path / "listing"
    listing.write_text(OF_22_05)
    srun = tmp_path / "srun"
    srun.write_text(f'#!/bin/bash\n[ "$1" = --mpi=list ] && exec cat {listing}\necho "$@"\n')
    srun.chmod(0o755)

    done = subprocess.run(
        [
            sys.executable,
            "-I",
            tmp_path / "job.pyz",
            "mpi",
            "--processes=2",
            "--",
            "srun",
            "--kill-on-bad-exit=1",
            "rank-env",
        ],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == said


def test_where_nothing_can_start_mpi_a_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "job.pyz").write_bytes(make_job_zip())

    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "job.pyz", "mpi", "--processes=2", "--", "srun", "train"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 127
    assert "do not understand each other (srun offers no MPI), and there is no mpirun" in done.stderr
