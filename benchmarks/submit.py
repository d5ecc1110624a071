"""What does a submission cost over an open connection? Beside a bare sbatch over ssh, and beside submitit."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.cluster.cluster import SlurmCluster

from benchmarks.cluster import find_cluster, hold_cluster
from benchmarks.report import Row, show, skip, time_together_ms
from windlass.app.planning import Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.edges.folders import find_folders
from windlass.edges.site_files import add_site

TITLE = "submission of a project of 10 files (known at the site), over an open connection"
MOST_ROUND_TRIPS = 2.0
BUDGET = 1.5
_REPEATS = 9
_OPTIONS = "--parsable --mem=100M --time=10"


def main() -> None:
    cluster = find_cluster()
    if isinstance(cluster, str):
        skip(TITLE, cluster)
        return
    with hold_cluster(cluster), tempfile.TemporaryDirectory(prefix="wb-", dir="/tmp") as home:
        project = _make_project(Path(home))
        rows = [row for host in ("login-direct", "login") for row in _measure(cluster, host, project, Path(home))]
    show(TITLE, rows)


def _measure(cluster: SlurmCluster, name: str, project: Path, home: Path) -> list[Row]:
    site_folder = Path(tempfile.mkdtemp(prefix="bench-", dir=cluster.home("alice")))
    _make_sbatch(site_folder)
    env = {
        **os.environ,
        "WINDLASS_STATE_DIR": str(home / f"state-{name}"),
        "WINDLASS_CONFIG_DIR": str(home / "config"),
        "WINDLASS_SSH_CONFIG": str(cluster.ssh_config),
    }
    folders = find_folders(env)
    text = f'root = "{site_folder}/root"\n[login]\nhost = "{name}"\n[software]\nslurm_path = "{site_folder}/bin"\n'
    add_site(name, text, folders)
    with Session(folders=folders, environ=env) as session:
        plans = (plan_run(session, Wanted(project=project, site=name)) for _ in range(1000))
        prepared = [next(plans) for _ in range(_REPEATS + 1)]
        host = session.host(session.site(name))
        before = host.round_trips
        works: dict[str, Callable[[], object]] = {
            "windlass: run folder made, sbatch": lambda: start_run(session, prepared.pop()),
            "ssh HOST sbatch job.sh": _make_bare(cluster, name, site_folder, home),
        }
        if name == "login-direct" and importlib.util.find_spec("submitit") is not None:
            works["submitit on this machine, no ssh"] = _make_submitit(home)
        times = time_together_ms(works, repeats=_REPEATS)
        trips = (host.round_trips - before) / (_REPEATS + 1)
    shutil.rmtree(site_folder)
    where = "through a jump host" if name == "login" else "direct"
    ours = times["windlass: run folder made, sbatch"]
    rows = [Row(what=f"round trips, {where}", value=trips, unit="", budget=MOST_ROUND_TRIPS)]
    for what, spent in times.items():
        is_peer = not what.startswith("windlass")
        rows.append(
            Row(
                what=f"{what}, {where}",
                value=spent,
                peer="windlass" if is_peer else "bare sbatch",
                ratio=spent / (ours if is_peer else times["ssh HOST sbatch job.sh"]),
                budget=None if is_peer else BUDGET,
            )
        )
    return rows


def _make_project(home: Path) -> Path:
    project = home / "project"
    project.mkdir()
    for number in range(9):
        (project / f"module{number}.py").write_text(f"print({number})\n" * 50)
    (project / "windlass.toml").write_text(
        '[run]\nname = "bench"\ncommand = "true"\n[resources]\ntime = "10m"\ncpus = 1\nmemory = "100M"\n'
    )
    return project


def _make_sbatch(folder: Path) -> None:
    """Held, so that the nodes stay idle."""
    (folder / "bin").mkdir()
    (folder / "bin" / "sbatch").write_text('#!/bin/sh\nexec /usr/bin/sbatch --hold "$@"\n')
    (folder / "bin" / "sbatch").chmod(0o755)
    (folder / "job.sh").write_text("#!/bin/sh\ntrue\n")
    for path in (folder, folder / "bin"):
        path.chmod(0o755)
        shutil.chown(path, "alice")


def _make_bare(cluster: SlurmCluster, name: str, folder: Path, home: Path) -> Callable[[], object]:
    shared = ["-o", "ControlMaster=auto", "-o", f"ControlPath={home}/{name}", "-o", "ControlPersist=60"]
    argv = ["ssh", "-F", str(cluster.ssh_config), *shared, name, f"{folder}/bin/sbatch {_OPTIONS} {folder}/job.sh"]
    return lambda: subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def _make_submitit(home: Path) -> Callable[[], object]:
    import submitit

    executor = submitit.SlurmExecutor(folder=home / "submitit")
    executor.update_parameters(time=10, mem="100M", additional_parameters={"hold": True})
    executor._throttling = 0.0  # else it waits 0.2 s between two jobs, on purpose
    return lambda: executor.submit(print)


if __name__ == "__main__":
    main()
