"""How long from the start of a job to its first batch? Staged through, beside `tar -x` and a copy of the shards.

On one and on four nodes of the test cluster, 50,000 JPEGs (2.3 GB), nothing of them in memory before. All nodes are
this machine and share its disk and its cores: what they do side by side elsewhere, they do here one after another.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cluster import find_cluster, hold_cluster
from benchmarks.data.corpus import CORPUS, make_jpegs
from benchmarks.report import Row, show, skip
from windlass.edges.job_zip import make_job_zip
from windlass_job.shards.packing import Settings, pack
from windlass_job.shards.sources import choose_source

TITLE = "from the start of a job to its first batch"
TIMES_FASTER = 50.0
ROUNDS = 3
PACKED = CORPUS / "jpegs-packed"
ARCHIVE = CORPUS / "jpegs.tar"

# Reads 64 files at random, and notes when it has them. `files` is a folder of plain ones.
_FIRST = """import os, random, sys, time
kind, path, out = sys.argv[1:4]
if kind == "files":
    names = open(os.path.join(out, "names")).read().split()
    batch = [open(os.path.join(path, name), "rb").read() for name in random.sample(names, 64)]
else:
    sys.path.insert(0, os.path.join(out, "windlass_job.pyz"))
    from windlass_job import data
    shards = data.Shards(os.environ.get("WINDLASS_DATA_SET", path))
    batch = [shards[number] for number in random.sample(range(len(shards)), 64)]
assert all(one[:2] == b"\\xff\\xd8" for one in batch)
with open(os.path.join(out, "first." + os.environ.get("SLURM_PROCID", "0")), "w") as file:
    file.write(str(time.time()))
events = os.path.join(out, "events.jsonl")
while "WINDLASS_DATA_SET" in os.environ and "data_local" not in open(events).read():
    time.sleep(0.05)
"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    first_s: float  # until the slowest node has its first batch
    local_s: float | None = None
    read: int | None = None  # bytes from the shared file system
    received: int | None = None


def main() -> None:
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip(TITLE, cluster)
        return
    _prepare()
    with hold_cluster(cluster), tempfile.TemporaryDirectory(dir=cluster.root / "home") as folder:
        for nodes in (1, 4):
            show(f"{TITLE}, {nodes} node{'s' if nodes > 1 else ''}", _measure(Path(folder), nodes))


def _prepare() -> None:
    jpegs = make_jpegs()
    if not PACKED.exists():
        aside = PACKED.with_suffix(".part")
        shutil.rmtree(aside, ignore_errors=True)
        pack(choose_source(os.fsencode(jpegs)), os.fsencode(aside), Settings("jpegs", nodes=4))
        aside.rename(PACKED)
    if not ARCHIVE.exists():
        aside = ARCHIVE.with_suffix(".part")
        subprocess.run(["tar", "cf", aside, "-C", jpegs, "."], check=True)
        aside.rename(ARCHIVE)


def _measure(folder: Path, nodes: int) -> list[Row]:
    trials = {how: [_run(folder, nodes, how) for _ in range(ROUNDS)] for how in ("windlass", "tar", "copy")}
    ours = trials["windlass"]
    first, tar_s, copy_s = (statistics.median(one.first_s for one in found) for found in trials.values())
    last = ours[-1]
    size = sum(path.stat().st_size for path in PACKED.glob("shard-*"))
    shares = f"{(last.read or 0) / size:.2f} of the data set was read from the shared file system"
    told = f"{(last.read or 0) / 1e9:.2f} GB read, {(last.received or 0) / 1e9:.2f} GB from other nodes"
    return [
        Row(what="windlass, staged through: first batch", value=1000 * first, peer="tar -x", ratio=first / tar_s,
            budget=1 / TIMES_FASTER, note=f"{tar_s / first:.0f} times as fast as tar -x; {_tell_spread(ours)}"),
        Row(what="windlass: all on every node", value=1000 * (last.local_s or 0), note=told),
        Row(what="bytes from the shared file system", value=(last.read or 0) / size, unit="times",
            budget=1.01, note=shares),
        Row(what="tar -x to the node's disk: first batch", value=1000 * tar_s, note=_tell_spread(trials["tar"])),
        Row(what="cp of the shards: first batch", value=1000 * copy_s, note=_tell_spread(trials["copy"])),
    ]  # fmt: skip


def _tell_spread(trials: list[Trial]) -> str:
    return f"{min(one.first_s for one in trials):.2f} to {max(one.first_s for one in trials):.2f} s"


def _run(folder: Path, nodes: int, how: str) -> Trial:
    out = folder / f"{how}-{nodes}-{time.time():.0f}"
    out.mkdir()
    (out / "windlass_job.pyz").write_bytes(make_job_zip())
    (out / "first.py").write_text(_FIRST)
    if how == "tar":
        names = subprocess.run(["tar", "tf", ARCHIVE], check=True, capture_output=True, text=True).stdout.split()
        (out / "names").write_text("\n".join(name for name in names if name.endswith(".jpg")))
    os.sync()
    _forget(ARCHIVE, *PACKED.iterdir())
    options = [f"--nodes={nodes}", "--ntasks-per-node=1", "--partition=dev", "--time=10", "--wait", "--mem=1500M"]
    command = ["sbatch", *options, f"--output={out}/log", f"--chdir={out}"]
    done = subprocess.run(command, input=_make_script(out, nodes, how), text=True, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit((out / "log").read_text())
    return _read(out)


def _forget(*paths: Path) -> None:
    """The data is on the disk only; programs stay as warm as they are on a node that runs jobs all day."""
    for path in paths:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _make_script(out: Path, nodes: int, how: str) -> str:
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    srun = f"srun --nodes={nodes} --ntasks-per-node=1" if nodes > 1 else ""
    first = f"{python} {out}/first.py"
    plan = {
        "sets": [{"name": "set", "stage": "node", "extract": False}],
        "memory_bytes": 0,
        "node_bytes": 10**12,
        "scratch": "$SLURM_TMPDIR",
    }
    local = "$SLURM_TMPDIR/data"
    lines = {
        "windlass": f"export WINDLASS_RUN_DIR={out} WINDLASS_RUN_ID=bench WINDLASS_DATA_SET={PACKED}\n"
        f"exec {python} -I {out}/windlass_job.pyz agent --data='{json.dumps(plan)}' -- "
        f"{srun} {first} shards x {out}",
        "tar": f"{srun} bash -c 'mkdir {local} && tar -xf {ARCHIVE} -C {local} && {first} files {local} {out}'",
        "copy": f"{srun} bash -c 'cp -r {PACKED} {local} && {first} shards {local} {out}'",
    }
    return f"#!/bin/bash\ndate +%s.%N > {out}/began\n{lines[how]}\n"


def _read(out: Path) -> Trial:
    began = float((out / "began").read_text())
    first = max(float(path.read_text()) for path in out.glob("first.[0-9]*")) - began
    events = out / "events.jsonl"
    if not events.exists():
        return Trial(first_s=first)
    told = [json.loads(line) for line in events.read_text().splitlines()]
    local = next(one for one in told if one["kind"] == "data_local")
    return Trial(first_s=first, local_s=local["seconds"], read=local["read"], received=local["received"])


if __name__ == "__main__":
    main()
