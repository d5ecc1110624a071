"""Data of a run on its nodes, and results from them: on pretended nodes, and on real ones with their own disks."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.test_story import start, wait_for_words
from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from tests.job.packed import make_files, write_packed
from windlass.app.cancelling import cancel_runs
from windlass.app.fetching import fetch_run
from windlass.app.following import wait
from windlass.app.logs import read_log
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site

FILES = make_files(400, 60_000)

# Reads every file once before anything is copied, then until all is on the node, then once more.
TRAIN = """
import os, socket, sys, time, zlib
from windlass_job import data

path = data.find("tiny")
host = os.environ["SLURMD_NODENAME"]
shards = data.Shards("tiny", check=True)

def read_all():
    total = 0
    for content in shards:
        total = zlib.crc32(content, total)
    return total

sums, begin = [read_all()], time.monotonic()
print(host, "first", len(shards), flush=True)
while time.monotonic() < begin + 60 and len([name for name in os.listdir(path) if name.endswith(".tar")]) < 8:
    sums.append(read_all())
time.sleep(1.1)  # readers look for arrivals once a second
sums.append(read_all())
print(host, "sums", sorted(set(sums)), "at", path, "rounds", len(sums), flush=True)
if "WINDLASS_NODE_DIR" in os.environ:
    folder = os.path.join(os.environ["WINDLASS_NODE_DIR"], "results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "same.txt"), "w") as file:
        file.write(host)
sys.exit(int(os.environ.get("LEAVE_WITH", "0")))
"""


def compute_sum() -> int:
    import zlib

    total = 0
    for name in sorted(FILES):
        total = zlib.crc32(FILES[name], total)
    return total


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(TRAIN)
    (folder / "windlass.toml").write_text(
        '[run]\nname = "staged"\ncommand = "python3 train.py"\nlauncher = "srun"\nbring_back = ["results/**"]\n'
        'results = ["results/**", "from-*/**"]\n'
        '[resources]\ntime = "5m"\ncpus = 1\nmemory = "300M"\n[data.tiny]\nstage = "node"\n'
    )
    return folder


def read_words(session: Session, record: RunRecord) -> str:
    return b"".join(read_log(session, record)).decode()


def read_events(session: Session, record: RunRecord) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(record.folder) / "events.jsonl").read_text().splitlines()]


def find_event(session: Session, record: RunRecord, kind: str) -> dict[str, Any]:
    return next(event for event in read_events(session, record) if event["kind"] == kind)


@pytest.mark.parametrize("session", ["here"], indirect=True)
@pytest.mark.parametrize("nodes", ["1", "2"])
def test_pretended_nodes_read_one_copy_and_bring_results_back(session: Session, project: Path, nodes: str) -> None:
    write_packed(Path(session.site("here").root) / "data" / "tiny", FILES, shards=8)

    record = wait(session, start(session, project, "here", resources__nodes=nodes))

    words = read_words(session, record)
    assert record.state is RunState.DONE, words
    assert len(re.findall(rf"sums \[{compute_sum()}\] at \S+windlass-", words)) == int(nodes), words
    assert fetch_run(session, record).results == 1
    event = find_event(session, record, "data_local")
    assert event["read"] == sum(
        path.stat().st_size for path in (Path(session.site("here").root) / "data" / "tiny").glob("shard-*")
    )


@pytest.mark.parametrize("session", ["here"], indirect=True)
def test_by_itself_data_of_this_machine_is_read_where_it_lies(session: Session, project: Path) -> None:
    folder = Path(session.site("here").root) / "data" / "tiny"
    write_packed(folder, FILES, shards=8)

    record = wait(session, start(session, project, "here", data__tiny__stage="auto"))

    words = read_words(session, record)
    assert record.state is RunState.DONE, words
    assert f"sums [{compute_sum()}] at {folder}" in words


@pytest.fixture
def cluster(slurm: SlurmCluster, places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """The real one, as alice through ssh, with a data set of hers."""
    slurm.reset()
    root = slurm.home("alice") / f"staging-{os.getpid()}"
    root.mkdir()
    write_packed(root / "data" / "tiny", FILES, shards=8)
    for path in (root, *root.rglob("*")):
        shutil.chown(path, "alice")
    monkeypatch.setenv("WINDLASS_SSH_CONFIG", str(slurm.ssh_config))
    site = f'root = "{root}"\n[login]\nhost = "login"\n[rules]\npoll_s = 1\n[partition.dev]\nis_default = true\n'
    add_site("four", site, find_folders(os.environ))
    with Session(folders=find_folders(os.environ), environ=os.environ) as opened:
        yield opened
    slurm.reset()
    shutil.rmtree(root, ignore_errors=True)


def list_left(slurm: SlurmCluster, node: int) -> str:
    return slurm.run_on_node(
        node, "ls -d /tmp/windlass-* /dev/shm/windlass-* /localscratch/* 2>/dev/null || true"
    ).stdout


@pytest.mark.slurm
@pytest.mark.parametrize(("nodes", "stage"), [("1", "node"), ("4", "node"), ("4", "memory")])
def test_every_real_node_has_its_copy_and_each_byte_is_read_once(
    cluster: Session, project: Path, slurm: SlurmCluster, nodes: str, stage: str
) -> None:
    record = start(
        cluster, project, "four", resources__nodes=nodes, resources__partition="dev", data__tiny__stage=stage
    )
    record = wait(cluster, record)

    words = read_words(cluster, record)
    count = int(nodes)
    assert record.state is RunState.DONE, words
    place = "/dev/shm/windlass-" if stage == "memory" else "/localscratch/alice"
    found = re.findall(rf"(node\d) sums \[{compute_sum()}\] at {place}", words)
    assert len(set(found)) == count, words
    local = find_event(cluster, record, "data_local")
    size = sum(path.stat().st_size for path in (Path(record.folder).parents[1] / "data" / "tiny").glob("shard-*"))
    assert (local["read"], local["received"], local["failed"]) == (size, (count - 1) * size, 0)
    fetched = fetch_run(cluster, record)
    others = {path.parent.parent.name for path in fetched.folder.glob("from-*/results/same.txt")}
    assert (fetched.folder / "results" / "same.txt").read_text() in found
    assert len(others) == count - 1
    slurm.wait_until_idle()
    assert [list_left(slurm, node) for node in range(1, count + 1)] == [""] * count


@pytest.mark.slurm
def test_a_keeper_that_dies_on_one_node_leaves_the_training_as_it_was(
    cluster: Session, project: Path, slurm: SlurmCluster
) -> None:
    # On one node not all arrives: it need not be waited for as long.
    patient = TRAIN.replace("sums, begin =", "time.sleep(4)\nsums, begin =").replace("begin + 60", "begin + 15")
    (project / "train.py").write_text(patient)
    record = start(cluster, project, "four", resources__nodes="3", resources__partition="dev")
    wait_for_words(cluster, record, b"data that the nodes read for themselves")

    slurm.run_on_node(2, "pkill -9 -u alice -f stage-node || true")

    record = wait(cluster, record)
    words = read_words(cluster, record)
    assert record.state is RunState.DONE, words
    assert len(set(re.findall(rf"(node\d) sums \[{compute_sum()}\]", words))) == 3, words


@pytest.mark.slurm
def test_results_come_back_and_nothing_stays_when_a_run_is_cancelled(
    cluster: Session, project: Path, slurm: SlurmCluster
) -> None:
    waits = 'import time\nprint("written", flush=True)\ntime.sleep(300)\n'
    (project / "train.py").write_text(TRAIN.replace("sys.exit(", waits + "sys.exit("))
    record = start(cluster, project, "four", resources__nodes="2", resources__partition="dev")
    wait_for_words(cluster, record, b"written")
    time.sleep(1)

    cancel_runs(cluster, [record])
    record = wait(cluster, record)

    assert record.state is RunState.CANCELLED
    slurm.wait_until_idle()
    assert (Path(record.folder) / "code" / "results" / "same.txt").exists()
    assert [list_left(slurm, node) for node in (1, 2)] == ["", ""]
