"""The trainings of examples/ end alike: stopped and gone on with, or shared by two processes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Places
from tests.docs.pages import ROOT

NAMES = sorted(path.name for path in (ROOT / "examples").glob("digits*"))
WINDLASS = Path(sys.executable).parent / "windlass"

pytestmark = pytest.mark.frameworks


@pytest.fixture
def env(programs: Path) -> dict[str, str]:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}


def train(folder: Path, epochs: int, env: dict[str, str]) -> str:
    """By hand, where Windlass is installed: the loss over all data at the end, as it was printed."""
    return find_loss(["python", "train.py", "--epochs", str(epochs)], folder, {**env, "PYTHONPATH": str(ROOT / "src")})


def find_loss(argv: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (loss,) = re.findall(r"^loss (\d+\.\d{6})", done.stdout, re.MULTILINE)
    return str(loss)


@pytest.mark.parametrize("name", NAMES)
def test_a_second_start_goes_on_as_if_there_had_been_none(name: str, env: dict[str, str], tmp_path: Path) -> None:
    whole, parts = (shutil.copytree(ROOT / "examples" / name, tmp_path / word) for word in ("whole", "parts"))

    first = train(parts, 1, env)
    second = train(parts, 3, env)

    assert second == train(whole, 3, env)
    assert float(second) < float(first)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "digits"])
def test_two_processes_train_as_one_does(name: str, env: dict[str, str], places: Places, tmp_path: Path) -> None:
    one, two = (shutil.copytree(ROOT / "examples" / name, tmp_path / word) for word in ("one", "two"))
    (places.pocket / "pocket.toml").write_text("cpus = 4\nidle_s = 1\nkill_wait_s = 2\n")
    command = [str(WINDLASS), "run", "--command", "python train.py --epochs 2"]

    alone = train(one, 2, env)
    together = find_loss(command, two, {**env, **places.env})

    assert float(together) == pytest.approx(float(alone), rel=1e-4)
