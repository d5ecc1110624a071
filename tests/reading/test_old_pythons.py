"""The reader from the job's zip on every Python there is, with nothing but its standard library."""

import subprocess
from pathlib import Path

import pytest

from tests.job.harness import PYTHONS
from tests.reading.sets import cut, make_files, write_set
from windlass.edges.job_zip import make_job_zip

FILES = make_files(150)
SCRIPT = """
import os, pickle, sys
from windlass_job import data
shards = data.Shards(sys.argv[1], check=len(sys.argv) > 2)
order = list(data.Order(len(shards), seed=3))
assert sorted(order) == list(range(150))
by_number = [shards[number] for number in order]
assert by_number == [bytes(one) for one in shards.read_many(order)]
assert by_number == list(shards.iterate(order)) == list(shards.iterate(order, threads=2))
assert shards["part/00007.bin"] == shards[7] == pickle.loads(pickle.dumps(shards))[7]
child = os.fork()
if child == 0:
    os._exit(0 if bytes(shards.read_many([5])[0]) == by_number[order.index(5)] else 1)
assert os.waitpid(child, 0)[1] == 0
try:
    data.loader(shards, 4)
except ImportError as error:
    print("no loader:", type(error).__name__)
assert "numpy" not in sys.modules and "torch" not in sys.modules
print(sum(map(len, by_number)), order[:3])
"""


@pytest.mark.parametrize("python", list(PYTHONS.values()), ids=list(PYTHONS))
def test_it_reads_everywhere_alike(tmp_path: Path, python: str) -> None:
    archive = tmp_path / "windlass_job.pyz"
    archive.write_bytes(make_job_zip())
    folder = write_set(tmp_path / "set", cut(FILES, 40), dead={})

    argv = [python, "-S", "-c", SCRIPT, str(folder)]
    done = subprocess.run(argv, env={"PYTHONPATH": str(archive)}, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"no loader: Missing\n{sum(len(file.content) for file in FILES)} [29, 2, 144]\n"
