"""The training of `make demo`: it stops when asked, goes on where it stopped, and needs three links."""

import json
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from windlass.core.chain import cut_into_links
from windlass.core.units import read_duration

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "fashion"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("numpy")
    pytest.importorskip("sklearn")
    return shutil.copytree(EXAMPLE, tmp_path / "fashion")


def start(folder: Path, *, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "train.py", "--engine", "numpy", "--data", "digits", "--seconds", str(seconds)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_goes_on_from_where_it_was_asked_to_stop(folder: Path) -> None:
    first = start(folder, seconds=1000)
    assert first.stdout is not None
    next(line for line in first.stdout if "loss" in line)
    first.send_signal(signal.SIGTERM)
    stopped_with, _ = first.communicate(timeout=60)
    spent_s = float(stopped_with.split(" after ")[1].split()[0])

    second = start(folder, seconds=spent_s + 3)
    ended_with, _ = second.communicate(timeout=60)

    metrics = json.loads((folder / "runs" / "metrics.json").read_text())
    assert (first.returncode, second.returncode) == (0, 0)
    assert "saved step" in stopped_with
    assert ended_with.startswith("going on from step-")
    assert "test accuracy" in ended_with
    assert metrics["starts"][0] == 0 < metrics["starts"][1] < metrics["step"]
    assert ElementTree.fromstring((folder / "runs" / "loss.svg").read_text()).tag.endswith("svg")


@pytest.mark.slow
def test_a_kill_costs_only_what_was_not_saved(folder: Path) -> None:
    first = start(folder, seconds=1000)
    checkpoints = folder / "checkpoints"
    assert first.stdout is not None
    next(line for line in first.stdout if list(checkpoints.glob("step-*")))
    first.kill()
    first.communicate(timeout=60)

    second = start(folder, seconds=0)
    ended_with, _ = second.communicate(timeout=60)

    assert second.returncode == 0
    assert ended_with.startswith("going on from step-")


def test_the_run_file_asks_for_three_links_and_the_training_needs_them() -> None:
    run = tomllib.loads((EXAMPLE / "windlass.toml").read_text())
    total, limit = (read_duration(run["resources"][key]) for key in ("time", "link_time"))
    notice = read_duration(run["checkpoint"]["notice"])
    wanted_s = float(run["run"]["command"].split("--seconds ")[1])

    links = cut_into_links(total, limit, notice)

    useful_s = (links.time - notice).total_seconds()
    assert links.count == 3
    assert 2 * useful_s < wanted_s < 3 * useful_s
