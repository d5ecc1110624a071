"""What does a packed environment save? Every node imports torch: from one shared folder, and from what it unpacked.

On up to eight nodes of the test cluster (WINDLASS_CLUSTER_MORE_NODES=4 tests/cluster/up.sh), each a slurmd with a /tmp
of its own. Counted is every call about a file below the shared root, of all that runs on a node, the agent and its
keepers too. Where sshfs is there, that root is mounted over sftp on every node: a file system that is asked over a
wire, as at a centre. All nodes share the disk and the cores of this machine; rounds that are timed are not counted.

Three ways: `folder`, imported from the shared root; `disk`, unpacked on what each node takes for its own disk, which
is one disk here; `memory`, unpacked where each node's own disk is memory, so that nobody waits for another's writing.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from tests.cluster.cluster import SlurmCluster
from tests.waiting import wait_until

from benchmarks.cluster import find_cluster, hold_cluster
from benchmarks.data.corpus import CORPUS
from benchmarks.report import Row, show, skip
from windlass.edges.job_zip import make_job_zip
from windlass_job.working.env_packing import VERBS

TITLE = "torch imported from a packed environment"
FEWER = 5.0
ROUNDS = {"folder": 3, "memory": 3, "disk": 2}
MOST_NODES = 8
ENV_ID = "venv-0123456789"
WHEELS = CORPUS.parent / "torch-wheels"
_SFTP = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server")

_FIRST = """import os, sys, time
began = time.time()
import torch
out = os.path.join(sys.argv[1], "first." + os.environ["SLURM_PROCID"])
with open(out, "w") as file:
    file.write("{} {} {}".format(time.time(), time.time() - began, torch.__file__))
"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    first_s: float  # until the slowest node has imported
    import_s: float  # of the slowest
    ready_s: float = 0.0  # until it was unpacked on every node
    read: int = 0  # bytes of the tar that came from the shared file system
    calls: tuple[int, ...] = ()  # about files below the shared root, by node
    opens: tuple[int, ...] = ()


def main() -> None:
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip(TITLE, cluster)
        return
    if not shutil.which("strace") or os.geteuid():
        skip(TITLE, "strace and root are needed to count what a node asks of the file system")
        return
    if not _get_wheels():
        skip(TITLE, f"torch cannot be had: no index, and no wheels in {WHEELS}")
        return
    with hold_cluster(cluster), tempfile.TemporaryDirectory(dir=cluster.root / "home") as folder:
        _measure(cluster, Path(folder))


def _get_wheels() -> bool:
    if not WHEELS.exists():
        aside = WHEELS.with_suffix(".part")
        shutil.rmtree(aside, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "torch", "-d", str(aside)]
        if subprocess.run(pip, stderr=subprocess.DEVNULL).returncode:
            return False
        aside.rename(WHEELS)
    return True


def _measure(cluster: SlurmCluster, folder: Path) -> None:
    partition, nodes = _find_nodes()
    root = folder / "root"
    root.mkdir()
    began = time.monotonic()
    _build(root)
    built_s, began = time.monotonic() - began, time.monotonic()
    card = VERBS["pack-env"]({"root": str(root), "id": ENV_ID}, lambda *_: None)
    packed_s = time.monotonic() - began
    job = _Job(root=root, partition=partition, nodes=nodes)
    with _mount_everywhere(cluster, nodes, root) as wire:
        with _memory_for_disks(cluster, nodes):
            counted = {how: _count(job, how, cluster) for how in ("folder", "memory")}
        trials = _take_turns(job, cluster)
        alone = _take_turns(replace(job, nodes=nodes[:1]), cluster)
    shown = f"{TITLE}: {len(nodes)} nodes, {card['files']} files, {card['bytes'] / 1e6:.0f} MB; {wire}"
    rows = [
        *_compare_calls(counted["memory"], counted["folder"]),
        *_compare_times(trials, f"{len(nodes)} nodes"),
        *_compare_times(alone, "one node"),
        Row(what="bytes read from the shared file system", value=trials["memory"][-1].read / card["bytes"],
            unit="times", budget=1.01, note="of the packed file, by all nodes together"),
        Row(what="packing, once", value=1000 * packed_s, note=f"building took {built_s:.0f} s"),
    ]  # fmt: skip
    show(shown, rows)


def _take_turns(job: "_Job", cluster: SlurmCluster) -> dict[str, list[Trial]]:
    trials: dict[str, list[Trial]] = {how: [] for how in ROUNDS}
    for round_ in range(max(ROUNDS.values())):
        for how in [how for how, rounds in ROUNDS.items() if round_ < rounds]:
            os.sync()  # what an earlier round wrote is none of this one's
            with _memory_for_disks(cluster, job.nodes) if how == "memory" else nullcontext():
                trials[how].append(job.run(how))
    return trials


def _compare_calls(ours: Trial, theirs: Trial) -> list[Row]:
    return [
        _compare("files opened on the shared file system, a node", ours.opens, theirs.opens, 1 / FEWER),
        _compare("all calls about files there, a node", ours.calls, theirs.calls, None),
    ]


def _compare_times(trials: dict[str, list[Trial]], nodes: str) -> list[Row]:
    rows, folder = [], _Middle(trials["folder"])
    for how in ("memory", "disk"):
        ours = _Middle(trials[how])
        rows += [
            Row(what=f"{nodes}, {how}: from the job's start to the import's end", value=1000 * ours.first_s,
                peer="folder", ratio=ours.first_s / folder.first_s,
                note=f"folder {folder.first_s:.1f} s ({folder.tell('first_s')}); {ours.tell('first_s')}"),
            Row(what=f"{nodes}, {how}: of that, unpacked everywhere", value=1000 * ours.ready_s,
                note=ours.tell("ready_s")),
            Row(what=f"{nodes}, {how}: import alone, slowest node", value=1000 * ours.import_s, peer="folder",
                ratio=ours.import_s / folder.import_s, note=f"folder {folder.import_s:.1f} s"),
        ]  # fmt: skip
    return rows


class _Middle:
    """Medians of several trials."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = trials
        self.first_s = statistics.median(one.first_s for one in trials)
        self.import_s = statistics.median(one.import_s for one in trials)
        self.ready_s = statistics.median(one.ready_s for one in trials)

    def tell(self, name: str) -> str:
        found = [float(getattr(one, name)) for one in self._trials]
        return f"{min(found):.1f} to {max(found):.1f} s"


def _compare(what: str, ours: Sequence[int], theirs: Sequence[int], budget: float | None) -> Row:
    """The first node has the agent besides; so the one with the most counts."""
    note = (
        f"{max(theirs) / max(ours):.1f} times fewer: {max(theirs)} from the folder; {min(ours)} to {max(ours)} packed"
    )
    ratio = max(ours) / max(theirs)
    return Row(what=what, value=max(ours), unit="calls", peer="folder", ratio=ratio, budget=budget, note=note)


def _find_nodes() -> tuple[str, list[str]]:
    """All of `wide`, where the cluster has more than its four."""
    for partition in ("wide", "dev"):
        argv = ["sinfo", "-h", "-N", "-p", partition, "-o", "%N"]
        names = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
        if names:
            return partition, names[:MOST_NODES]
    raise SystemExit("the test cluster has no nodes")


def _build(root: Path) -> None:
    prefix = root / "envs" / ENV_ID / "build-1"
    prefix.parent.mkdir(parents=True)
    subprocess.run([Path(sys.base_prefix) / "bin" / "python3", "-m", "venv", prefix], check=True)
    pip = [f"{prefix}/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-index", "--find-links", str(WHEELS), "torch"], check=True)
    (prefix.parent / "current").symlink_to(prefix.name)
    (prefix.parent / "env.json").write_text(json.dumps({"id": ENV_ID, "kind": "venv", "path": str(prefix)}))


@dataclass(frozen=True, kw_only=True)
class _Job:
    root: Path
    partition: str
    nodes: list[str]

    def run(self, how: str) -> Trial:
        out = self.root / f"{how}-{time.time():.0f}"
        out.mkdir()
        (out / "windlass_job.pyz").write_bytes(make_job_zip())
        (out / "first.py").write_text(_FIRST)
        options = [f"--nodes={len(self.nodes)}", "--ntasks-per-node=1", f"--partition={self.partition}", "--mem=8000M"]
        command = ["sbatch", "--parsable", *options, "--time=15", f"--output={out}/log", "--chdir=/tmp"]
        script = self._make_script(out, how)
        job = subprocess.run(command, input=script, text=True, stdout=subprocess.PIPE, check=True).stdout.strip()
        # sbatch --wait looks every 32 s in the end.
        wait_until(lambda: not _is_queued(job), f"the end of job {job}", timeout_s=900)
        return self._read(out, how)

    def _make_script(self, out: Path, how: str) -> str:
        plan = {"sets": [], "memory_bytes": 0, "node_bytes": 10**12, "scratch": "$SLURM_TMPDIR"}
        folder = self.root / "envs" / ENV_ID
        packed = f"export WINDLASS_PACKED_ENV={folder}/env.tar\n" if how != "folder" else ""
        option = f"--data='{json.dumps(plan)}' " if how != "folder" else ""
        python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
        srun = f"srun --nodes={len(self.nodes)} --ntasks-per-node=1"
        return (
            f"#!/bin/bash\ndate +%s.%N > {out}/began\nsource {folder}/current/bin/activate\n"
            f"export WINDLASS_RUN_DIR={out} WINDLASS_RUN_ID=bench\n{packed}"
            f"exec {python} -I {out}/windlass_job.pyz agent {option}-- {srun} python {out}/first.py {out}\n"
        )

    def _read(self, out: Path, how: str) -> Trial:
        began = float((out / "began").read_text())
        found = [path.read_text().split(" ", 2) for path in out.glob("first.[0-9]*")]
        if not (out / "events.jsonl").exists():
            raise SystemExit((out / "log").read_text())
        events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
        places = {"folder": str(self.root), "memory": "/dev/shm/", "disk": "/localscratch/"}
        if len(found) != len(self.nodes) or not all(where.startswith(places[how]) for _, _, where in found):
            raise SystemExit((out / "log").read_text())
        told = {one["kind"]: one for one in events}
        return Trial(
            first_s=max(float(end) for end, _, _ in found) - began,
            import_s=max(float(took) for _, took, _ in found),
            ready_s=told.get("environment_ready", {}).get("seconds", 0.0),
            read=told.get("data_local", {}).get("read", 0),
        )


def _count(job: _Job, how: str, cluster: SlurmCluster) -> Trial:
    """With every slurmd, and so all it starts, under strace."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        files = {name: Path(folder) / name for name in job.nodes}
        for name, file in files.items():
            stack.enter_context(_trace(_find_slurmd(cluster, name), file))
        trial = job.run(how)
        stack.close()
        texts = [file.read_text(errors="replace") for file in files.values()]
    path = re.escape(f'"{job.root}')
    calls = tuple(len(re.findall(rf"^\d+ +\w+\([^\n]*?{path}", text, re.MULTILINE)) for text in texts)
    opens = tuple(len(re.findall(rf"^\d+ +open(?:at|at2)?\([^\n]*?{path}", text, re.MULTILINE)) for text in texts)
    return Trial(first_s=trial.first_s, import_s=trial.import_s, calls=calls, opens=opens)


def _is_queued(job: str) -> bool:
    return bool(subprocess.run(["squeue", "-h", "-j", job], capture_output=True, text=True).stdout.strip())


def _find_slurmd(cluster: SlurmCluster, node: str) -> str:
    return (cluster.root / "run" / f"slurmd.{node}.pid").read_text().strip()


@contextmanager
def _trace(pid: str, file: Path) -> Iterator[None]:
    process = subprocess.Popen(
        ["strace", "-f", "-q", "-e", "trace=%file", "-o", file, "-p", pid], stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(0.2)  # it has attached
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _memory_for_disks(cluster: SlurmCluster, nodes: Sequence[str]) -> Iterator[None]:
    """What each node takes for its own disk is memory: then the environment is unpacked in its /dev/shm."""
    inside = [["nsenter", "-t", _find_slurmd(cluster, node), "-m"] for node in nodes]
    try:
        for enter in inside:
            subprocess.run([*enter, "mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/localscratch"], check=True)
        yield
    finally:
        for enter in inside:
            subprocess.run([*enter, "umount", "-l", "/localscratch"], check=False)


@contextmanager
def _mount_everywhere(cluster: SlurmCluster, nodes: Sequence[str], root: Path) -> Iterator[str]:
    """The root over sftp, in the mounts of every node; what it is, in words."""
    server = next((path for path in _SFTP if Path(path).exists()), None)
    if server is None or not shutil.which("sshfs") or not Path("/dev/fuse").exists():
        yield "the shared file system is this machine's own disk, warm"
        return
    # Newer ones refuse links that lead out of the mount, as a venv's to its Python does.
    known = subprocess.run(["sshfs", "--help"], capture_output=True, text=True)
    more = ",no_contain_symlinks" if "no_contain_symlinks" in known.stdout + known.stderr else ""
    inside = [["nsenter", "-t", _find_slurmd(cluster, node), "-m"] for node in nodes]
    try:
        for enter in inside:
            ours, theirs = os.pipe(), os.pipe()
            argv = [*enter, "sshfs", "-f", "-o", f"passive,allow_other{more}", f":{root}", str(root)]
            subprocess.Popen(argv, stdin=ours[0], stdout=theirs[1], stderr=subprocess.DEVNULL)
            subprocess.Popen([server], stdin=theirs[0], stdout=ours[1])
            for handle in (*ours, *theirs):
                os.close(handle)
        wait_until(lambda: all(_is_mounted(cluster, node, root) for node in nodes), "mounted on every node")
        yield "the shared file system is asked over sftp"
    finally:
        for enter in inside:
            subprocess.run([*enter, "umount", "-l", str(root)], stderr=subprocess.DEVNULL)


def _is_mounted(cluster: SlurmCluster, node: str, root: Path) -> bool:
    return f" {root} fuse.sshfs " in Path(f"/proc/{_find_slurmd(cluster, node)}/mounts").read_text()


if __name__ == "__main__":
    main()
