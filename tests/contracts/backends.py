"""The two clusters that every contract of the Cluster seam is tried on: pocket on this machine, real Slurm over ssh."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cluster.cluster import SlurmCluster
from tests.waiting import wait_until
from windlass.core.exactly_once import Outcome, pick_own_jobs
from windlass.core.jobs import JobSeen
from windlass.core.site import Login, Site, Software
from windlass.edges.cluster import Cluster
from windlass.edges.host import Host, Request, make_command, read_completed
from windlass.edges.local_host import LocalHost
from windlass.edges.ssh_host import SshHost
from windlass.edges.submission import Order, SubmitResult, submit
from windlass.pocket.programs import ensure_bin
from windlass_job import wire


@dataclass(kw_only=True)
class Backend:
    cluster: Cluster
    root: str
    partition: str
    shortest: str  # --time: the shortest limit there is
    patience_s: float
    slurm: SlurmCluster | None = None
    _count: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))
    _mark: str = field(default_factory=lambda: f"{time.time_ns() // 1000 % 36**3:03d}"[-3:])

    @property
    def host(self) -> Host:
        return self.cluster.host

    def make_order(self, body: str, *options: str, run_id: str | None = None, number: int = 1) -> Order:
        """A run folder with a script in it, nothing submitted."""
        run_id = run_id or f"c{self._mark}-{next(self._count):05d}"
        folder, token = f"{self.root}/{run_id}", wire.TOKEN.format(run_id=run_id, number=number)
        lines = (
            "#!/bin/bash",
            f"#SBATCH --job-name={run_id}",
            f"#SBATCH --comment={token}",
            f"#SBATCH --output={folder}/log-%A_%a",
            *(f"#SBATCH {option}" for option in options),
            body,
            "",
        )
        script, text = f"{folder}/{wire.SCRIPT.format(number=number)}", "\n".join(lines).encode()
        files = {"files": [{"path": script, "bytes": len(text), "mode": 0o755}]}
        (reply,) = self.host.ask([Request(operation="write", arguments=files, payload=text)])
        assert reply.ok, reply.problem
        return Order(folder=folder, number=number, token=token, script=script, created=time.time())

    def send(self, body: str, *options: str) -> tuple[Order, str]:
        order = self.make_order(body, *options)
        result = submit(self.cluster, order)
        assert result.outcome is Outcome.SUBMITTED, result
        assert result.job_id is not None
        return order, result.job_id

    def look_at(self, order: Order, job_id: str) -> tuple[JobSeen, ...]:
        jobs = self.cluster.look([job_id]).jobs
        return pick_own_jobs(jobs, run_id=order.run_id, token=order.token)

    def find_jobs(self, order: Order) -> tuple[JobSeen, ...]:
        """Of exactly this submission, whatever their number."""
        jobs = self.cluster.look_by_name(order.run_id, order.created).jobs
        return pick_own_jobs(jobs, run_id=order.run_id, token=order.token)

    def wait_for(self, order: Order, job_id: str, claim: Callable[[tuple[JobSeen, ...]], bool], what: str) -> None:
        wait_until(lambda: claim(self.look_at(order, job_id)), what, timeout_s=self.patience_s)

    def run(self, *argv: str) -> str:
        (reply,) = self.host.ask([make_command(argv)])
        done = read_completed(reply)
        assert done.exit_code == 0, done
        return done.out

    def submit_lost(self, order: Order) -> SubmitResult:
        """Submit, and lose what the deputy wrote down about it."""
        result = submit(self.cluster, order)
        place = f"{order.folder}/{wire.SUBMISSIONS}/{order.number}"
        self.run("rm", f"{place}/{wire.RECEIPT}", f"{place}/{wire.SUBMIT_OUT}")
        return result


@pytest.fixture(scope="module", params=["pocket", pytest.param("slurm", marks=pytest.mark.slurm)])
def backend(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    folder = tmp_path_factory.mktemp("c")
    is_pocket = request.param == "pocket"
    with open_pocket(folder) if is_pocket else open_real(request.getfixturevalue("slurm"), folder) as found:
        yield found


@contextmanager
def open_pocket(folder: Path) -> Iterator[Backend]:
    state = folder / "pocket"
    state.mkdir()
    # With a partition of its own pocket is as strict about names as Slurm is.
    settings = 'idle_s = 1\nkill_wait_s = 1\n[partitions.night]\nmax_time = "8:00:00"\n'
    (state / "pocket.toml").write_text(settings)
    site = Site(name="pocket", software=Software(slurm_path=str(ensure_bin(state))))
    host = LocalHost()
    backend = Backend(
        cluster=Cluster(host, site), root=str(folder / "runs"), partition="pocket", shortest="0:02", patience_s=30
    )
    yield backend
    backend.run(f"{site.software.slurm_path}/scancel", "--me")
    host.close()


@contextmanager
def open_real(slurm: SlurmCluster, folder: Path) -> Iterator[Backend]:
    site = Site(name="login-direct", login=Login(host="login-direct"))
    host = SshHost(site, config=slurm.ssh_config, runtime=folder)
    (reply,) = host.ask([make_command(["mktemp", "-d", "-p", str(slurm.home("alice"))])])
    root = read_completed(reply).out.strip()
    # Slurm looks at time limits every 30 s, and the shortest is a minute.
    backend = Backend(
        cluster=Cluster(host, site), root=root, partition="cpu", shortest="1", patience_s=150, slurm=slurm
    )
    yield backend
    backend.run("scancel", "--me")
    backend.run("rm", "-rf", root)
    host.close_master()
