"""A table of very many tasks, on a laptop."""

import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 250_000
MOST_MB = 150
# By a small process in between: what its parent holds counts for a new process too, until it runs another program.
_MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


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
    planned = subprocess.run([sys.executable, "-c", _MEASURE, *argv], cwd=project, capture_output=True, text=True)

    assert planned.returncode == 0, planned.stderr
    assert f"{ROWS}, the first: " in planned.stderr
    assert int(planned.stdout.split()[-1]) / 1024 < MOST_MB
