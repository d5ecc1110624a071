"""The training of the page on reading, stopped and started again as somebody would do it."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT, load_blocks
from tests.reading.sets import cut, make_files, write_set
from windlass_job import data

PAGE = ROOT / "docs" / "how-to" / "read-data.md"
TELLING = "step += 1\n            print('got', content.split(b'.')[0].decode())"


def run_to(last: int, folder: Path) -> list[int]:
    """The numbers of the samples that it trained with."""
    (training,) = [block.text for block in load_blocks(PAGE) if block.title == "train.py"]
    assert "step += 1" in training
    argv = [sys.executable, "-c", training.replace("step += 1", TELLING, 1), str(last)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("got ")]


def test_each_sample_comes_once_an_epoch_however_often_it_is_stopped(tmp_path: Path) -> None:
    write_set(tmp_path / "packed" / "pets", cut(make_files(360), 100))
    order = data.Order(360, seed=1)
    wanted = list(order)
    order.set_epoch(1)
    wanted += list(order)

    parts = [run_to(last, tmp_path) for last in (100, 101, 359, 370, 10**6)]

    assert [len(part) for part in parts] == [100, 1, 258, 11, 350]
    assert [number for part in parts for number in part] == wanted
    newest = sorted((tmp_path / "checkpoints").glob("*/state.json"), key=os.path.getmtime)[-1]
    assert json.loads(newest.read_text())["step"] == 700
