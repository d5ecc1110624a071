"""How long does `windlass ps` take with 10,000 runs on record and 1,000 jobs in the queue? One question to Slurm."""

import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.cluster.cluster import SlurmCluster

from benchmarks.cluster import find_cluster, hold_cluster
from benchmarks.report import Row, show, skip, time_together_ms
from benchmarks.startup import make_record
from windlass.app.refreshing import refresh
from windlass.app.session import Session
from windlass.core.record import RunRecord, RunState
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site

TITLE = "windlass ps: 10,000 known runs, 1,000 live jobs"
KNOWN, LIVE = 10_000, 1_000
BUDGET_MS = 1_000.0
SITE = "login"


def main() -> None:
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip(TITLE, cluster)
        return
    with hold_cluster(cluster), tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as home:
        env = {
            **os.environ,
            "WINDLASS_STATE_DIR": home,
            "WINDLASS_CONFIG_DIR": home,
            "WINDLASS_SSH_CONFIG": str(cluster.ssh_config),
        }
        add_site(SITE, f'root = "{home}/root"\n[login]\nhost = "{SITE}"\n', find_folders(env))
        with Session(folders=find_folders(env), environ=env) as session:
            live = _submit(cluster)
            session.store.save_many([make_record(number) for number in range(KNOWN - LIVE)] + live)
            rows = [*_measure_in_process(session), *_measure_program(cluster, env)]
            states = {record.state for record in session.store.live_runs(SITE)}
    assert states == {RunState.WAITING}, states
    show(TITLE, rows)


def _measure_in_process(session: Session) -> list[Row]:
    refresh(session, session.store.live_runs(SITE))
    host = session.host(session.site(SITE))
    before = host.round_trips
    found = refresh(session, session.store.live_runs(SITE))
    assert not found.problems, found.problems
    trips = host.round_trips - before
    refreshed = time_together_ms({"x": lambda: refresh(session, session.store.live_runs(SITE))}, repeats=5)["x"]
    return [
        Row(what="round trips", value=trips, unit="", budget=1.0),
        Row(what="refresh over an open connection", value=refreshed),
    ]


def _measure_program(cluster: SlurmCluster, env: dict[str, str]) -> list[Row]:
    program = Path(sys.executable).with_name("windlass")
    squeue = ["ssh", "-F", str(cluster.ssh_config), "-o", "ControlMaster=auto", "-o", "ControlPersist=60"]
    squeue += ["-o", f"ControlPath={env['WINDLASS_STATE_DIR']}/bare", SITE, "squeue --me; sacct -X"]

    times = time_together_ms(
        {
            "windlass ps": lambda: subprocess.run([program, "ps"], env=env, check=True, stdout=subprocess.DEVNULL),
            "windlass ps --cached": lambda: subprocess.run(
                [program, "ps", "--cached"], env=env, check=True, stdout=subprocess.DEVNULL
            ),
            "ssh HOST 'squeue --me; sacct -X'": lambda: subprocess.run(
                squeue, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ),
        },
        repeats=5,
    )
    bare = times["ssh HOST 'squeue --me; sacct -X'"]
    return [
        Row(
            what=f"{what}, the whole program",
            value=spent,
            budget=BUDGET_MS if what.startswith("windlass") else None,
            note=f"{spent / bare:.2f}x squeue and sacct over shared ssh",
        )
        for what, spent in times.items()
    ]


def _submit(cluster: SlurmCluster) -> list[RunRecord]:
    """A thousand jobs of alice's, held, with the names and comments of runs, and their folders."""
    line = (
        f"for i in $(seq 1 {LIVE}); do id=$(printf 'live-%05d' $i); echo $id "
        "$(sbatch --parsable --hold --job-name=$id --comment=windlass:$id:1 --wrap=true); done"
    )
    lines = cluster.run_as("alice", line, timeout_s=300).stdout.splitlines()
    records = []
    for number, (run_id, job_id) in enumerate(line.split() for line in lines):
        record = make_record(KNOWN + number, site=SITE, state=RunState.WAITING)
        submission = replace(record.submissions[0], token=f"windlass:{run_id}:1", job_id=job_id)
        folder = f"{cluster.home('alice')}"
        records.append(replace(record, run_id=run_id, folder=folder, submissions=(submission,)))
    assert len(records) == LIVE
    return records


if __name__ == "__main__":
    main()
