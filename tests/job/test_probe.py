"""The probe: what a node is like, told by the zip on any Python."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.job.harness import OLDEST_AND_NEWEST
from windlass.edges.job_zip import make_job_zip
from windlass_job import probe

# What an H200 with driver 580 said.
H200 = "NVIDIA H200, 580.159.04, 143771, 9.0"
HEAD = "| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |"


@pytest.mark.parametrize("python", OLDEST_AND_NEWEST.values(), ids=OLDEST_AND_NEWEST)
def test_it_tells_of_this_machine(tmp_path: Path, python: str) -> None:
    told = _take(tmp_path, python, "--folder", str(tmp_path), "--folder", str(tmp_path / "missing"))

    assert told["architecture"] == os.uname().machine
    assert told["cpus"] == len(os.sched_getaffinity(0))
    assert told["shared_memory"]["size_mb"] > 0
    assert told["local_disk"] == {**told["local_disk"], "path": str(tmp_path), "variable": "SLURM_TMPDIR"}
    assert told["folders"][str(tmp_path)]["is_writable"]
    assert not told["folders"][str(tmp_path / "missing")]["is_there"]


def test_it_can_be_written_to_a_file_at_once(tmp_path: Path) -> None:
    _run(tmp_path, next(iter(OLDEST_AND_NEWEST.values())), "--output", str(tmp_path / "probe.json"))

    assert json.loads((tmp_path / "probe.json").read_text())["host"]
    assert [path.name for path in tmp_path.glob("*.new")] == []


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="a network of its own needs root")
def test_without_a_route_nothing_is_reached(tmp_path: Path) -> None:
    told = _take(tmp_path, "unshare", "--net", next(iter(OLDEST_AND_NEWEST.values())))

    assert told["internet"]["reached"] == []
    assert set(told["internet"]["tried"]) == {host for host, _ in probe.OUTSIDE}


def test_gpus_are_told_as_nvidia_smi_tells_them(tmp_path: Path) -> None:
    _put_program(tmp_path, "nvidia-smi", f'case "$*" in *query*) echo "{H200}";; *) echo "{HEAD}";; esac')

    told = _take(tmp_path, next(iter(OLDEST_AND_NEWEST.values())))

    assert told["gpus"] == [{"name": "NVIDIA H200", "driver": "580.159.04", "memory_mb": "143771", "capability": "9.0"}]
    assert told["cuda"] == "13.0"


def test_an_old_driver_does_not_know_the_capability(tmp_path: Path) -> None:
    _put_program(
        tmp_path, "nvidia-smi", 'case "$*" in *compute_cap*) exit 2;; *query*) echo "Tesla K40m, 470.1, 11441";; esac'
    )

    told = _take(tmp_path, next(iter(OLDEST_AND_NEWEST.values())))

    assert told["gpus"] == [{"name": "Tesla K40m", "driver": "470.1", "memory_mb": "11441"}]


def test_a_driver_that_hangs_is_given_up(tmp_path: Path) -> None:
    _put_program(tmp_path, "nvidia-smi", "exec sleep 600")

    assert _take(tmp_path, next(iter(OLDEST_AND_NEWEST.values())))["gpus"] is None


def _take(folder: Path, *command: str) -> Any:
    return json.loads(_run(folder, *command))


def _run(folder: Path, *command: str) -> str:
    """`command` is the interpreter, possibly behind another program, then the probe's options."""
    zipped = folder / "windlass_job.pyz"
    zipped.write_bytes(make_job_zip())
    split = next((i for i, word in enumerate(command) if i > 0 and word in ("--folder", "--output")), len(command))
    argv = [*command[:split], "-I", str(zipped), "probe", *command[split:]]
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder), "SLURM_TMPDIR": str(folder)}
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120, env=env).stdout


def _put_program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
