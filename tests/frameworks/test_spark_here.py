"""A Spark cluster of pretended nodes on this machine: who is missing is named, and nobody else is let in."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.waiting import wait_until
from windlass.edges.job_zip import make_job_zip

SECRET = "a-word-that-nobody-else-knows"
# The master's own settings, without the word: what somebody else on the node could write himself.
STRANGER = """
import os
from pyspark.sql import SparkSession
lines = open(os.environ["SPARK_CONF_DIR"] + "/spark-defaults.conf").read().splitlines()
(master,) = (line.split()[1] for line in lines if line.startswith("spark.master "))
os.environ["SPARK_CONF_DIR"] = os.getcwd()
builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
builder.getOrCreate().sparkContext.parallelize([1]).collect()
"""
# Every process of this machine, while executors are up.
SPY = f"""
import glob
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
context.parallelize(range(4), 4).map(lambda number: number).collect()
lines = []
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        lines.append(open(path, "rb").read())
    except OSError:
        pass
print("executors", sum(b"CoarseGrainedExecutorBackend" in line for line in lines))
print("told", sum({SECRET.encode()!r} in line for line in lines))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "job.pyz").write_bytes(make_job_zip())
    (tmp_path / "run").mkdir()
    (tmp_path / "scratch").mkdir()
    return tmp_path


def start(
    home: Path, python: Path, node: int, nodes: int, command: Sequence[str | Path], *options: str
) -> "subprocess.Popen[str]":
    step = {
        "SLURM_JOB_ID": "45",
        "SLURM_STEP_NODELIST": f"n[1-{nodes}]",
        "SLURM_STEP_TASKS_PER_NODE": f"1(x{nodes})",
        "SLURM_PROCID": str(node),
        "SLURM_NODEID": str(node),
        "SLURMD_NODENAME": f"n{node + 1}",
        "WINDLASS_POCKET_JOB": "45",
        "WINDLASS_PORT_BLOCK": "27008",
        "WINDLASS_RUN_DIR": str(home / "run"),
        "WINDLASS_SPARK_SECRET": SECRET,
        "TMPDIR": str(home / "scratch"),
    }
    words = ["spark", "--memory-mb=3000", "--beside", python.parent, *options, "--", *command]
    return subprocess.Popen(
        ["python3", "-I", home / "job.pyz", *words],
        cwd=home,
        env={**os.environ, **step},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_worker_that_does_not_come_is_named(home: Path, python: Path) -> None:
    first = start(home, python, 0, 2, ["touch", "started"], "--ready-within=40")
    _, said = first.communicate(timeout=120)

    assert first.returncode == 127
    assert re.search(r"[01] of 2 Spark workers came within 40 s; missing: 127\.0\.0\.1", said)
    assert not (home / "started").exists()
    assert list((home / "scratch").iterdir()) == []


def test_the_secret_is_on_no_command_line_and_all_end_together(home: Path, python: Path) -> None:
    (home / "spy.py").write_text(SPY)

    second = start(home, python, 1, 2, ["true"])
    first = start(home, python, 0, 2, [python, "spy.py"])
    out, said = first.communicate(timeout=180)

    assert (first.returncode, second.wait(60)) == (0, 0), said
    assert out.splitlines() == ["executors 2", "told 0"]
    assert list((home / "scratch").iterdir()) == []
    assert any((home / "run" / "spark").glob("eventlog*"))


def test_the_command_may_save_before_the_cluster_ends(home: Path, python: Path) -> None:
    saving = "trap 'touch saved; exit 0' TERM; touch up; while true; do sleep 0.1; done"
    first = start(home, python, 0, 1, ["bash", "-c", saving])
    wait_until((home / "up").exists, "Spark is up", timeout_s=120)

    first.terminate()
    _, said = first.communicate(timeout=60)

    assert first.returncode == 0, said
    assert (home / "saved").exists()
    assert list((home / "scratch").iterdir()) == []


def test_a_stranger_is_not_let_in(home: Path, python: Path) -> None:
    (home / "stranger.py").write_text(STRANGER)

    first = start(home, python, 0, 1, ["timeout", "60", python, "stranger.py"])
    _, said = first.communicate(timeout=180)

    assert first.returncode != 0
    assert "authenti" in said.lower() or "sasl" in said.lower(), said[-2000:]
