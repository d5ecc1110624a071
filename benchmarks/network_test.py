"""What does the network test before a training cost? Beside a bare `srun hostname` on the same nodes.

Both are steps of one allocation, taken in turns. The nodes are the test cluster's, all on this machine: what nodes do
side by side elsewhere, they do here one after another.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.cluster import find_cluster, hold_cluster
from benchmarks.report import Row, show, skip
from windlass.edges.job_zip import make_job_zip

TITLE = "the network test of 4 nodes"
BUDGET_MS = 1000.0
NODES = 4
_TURNS = 7

# Runs as the batch script: the agent's own function, on real nodes.
_JOB = """import json, os, subprocess, sys, time
sys.path.insert(0, sys.argv[1] + "/windlass_job.pyz")
from windlass_job.network.checking import test_network
bare, tests, sentence = [], [], ""
for turn in range(1, {turns} + 2):
    start = time.perf_counter()
    subprocess.run(["srun", "--ntasks-per-node=1", "hostname"], check=True, stdout=subprocess.DEVNULL)
    middle = time.perf_counter()
    verdict = test_network(sys.argv[1], turn, os.environ, lambda: False)
    end = time.perf_counter()
    assert verdict.is_well, verdict
    if turn > 1:
        bare.append(1000 * (middle - start))
        tests.append(1000 * (end - middle))
print(json.dumps({{"bare": sorted(bare), "tests": sorted(tests), "sentence": verdict.sentence}}))
"""


def main() -> None:
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip(TITLE, cluster)
        return
    with hold_cluster(cluster), tempfile.TemporaryDirectory(dir=cluster.root / "home") as folder:
        measured = _measure(Path(folder))
    bare, test = (measured[name][_TURNS // 2] for name in ("bare", "tests"))
    show(
        TITLE,
        [
            Row(what="srun hostname", value=bare),
            Row(what="network test", value=test, budget=BUDGET_MS, note=measured["sentence"]),
            Row(what="network test beside srun hostname", value=test - bare, peer="srun", ratio=test / bare),
        ],
    )


def _measure(folder: Path) -> dict[str, Any]:
    folder.chmod(0o755)
    (folder / "windlass_job.pyz").write_bytes(make_job_zip())
    (folder / "job.py").write_text(_JOB.format(turns=_TURNS))
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    script = f"#!/bin/bash\n{python} {folder}/job.py {folder}\n"
    options = [f"--nodes={NODES}", "--ntasks-per-node=1", "--partition=dev", "--time=10", "--wait"]
    command = ["sbatch", *options, f"--output={folder}/out", f"--error={folder}/err"]
    done = subprocess.run(command, input=script, text=True, check=False, env=os.environ, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit((folder / "err").read_text())
    found: dict[str, Any] = json.loads((folder / "out").read_text().splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
