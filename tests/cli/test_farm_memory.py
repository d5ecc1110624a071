"""A table of very many tasks, on a laptop."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 250_000
MOST_MB = 150


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    "words", [["tasks.txt"], ["echo {seed} {name}", "--table", "tasks.csv"]], ids=["commands", "table"]
)
def test_it_is_never_held_as_it_is_written(project: Path, words: list[str]) -> None:
    with (project / "tasks.txt").open("w") as file:
        file.writelines(f"python3 train.py --seed {number} --rate 0.1\n" for number in range(ROWS))
    with (project / "tasks.csv").open("w") as file:
        file.write("seed,rate,name\n")
        file.writelines(f"{number},0.1,model {number}\n" for number in range(ROWS))

    argv = [sys.executable, "-m", "windlass", "farm", "run", *words, "--plan"]
    planned = subprocess.Popen(argv, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert planned.stdout is not None
    said = planned.stdout.read().decode()
    _, status, usage = os.wait4(planned.pid, 0)
    planned.returncode = status

    assert status == 0, said
    assert f"{ROWS}, the first: " in said
    assert usage.ru_maxrss / 1024 < MOST_MB
