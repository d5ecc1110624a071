"""What a check quotes is what a real Slurm says: to the very script, or as the reason for which its job waits."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import HOUR, MINUTE, PLAN, SPEC
from tests.cluster.cluster import SlurmCluster
from tests.waiting import wait_until
from windlass.checks import run_checks
from windlass.core.case import Case
from windlass.core.dependency import list_awaited
from windlass.core.finding import Severity
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.site import GpuDialect, Login, Site
from windlass.edges.cluster import Cluster
from windlass.edges.ssh_host import SshHost
from windlass.edges.survey import take_survey

pytestmark = pytest.mark.slurm

SHORT = replace(PLAN, account="def-prof", partition="cpu", link_time=5 * MINUTE, memory_mb=100)
ON_GPU = replace(SHORT, partition="gpu", gpus_per_node=1, gpu_dialect=GpuDialect.GRES)
TINY = replace(SHORT, account="tiny")
RESERVATION = "windlass-checks"

REFUSED: dict[str, tuple[str, Plan]] = {
    "nobody's account": ("C102", replace(SHORT, account="nosuch")),
    "a QOS that the account has not": ("C103", replace(TINY, qos="high")),
    "more jobs than the account may have": ("C104", replace(TINY, links=4)),
    "more jobs than the QOS may have": ("C104", replace(SHORT, qos="devqos", links=3)),
    "more CPUs than the account may have": ("C112", replace(TINY, cpus_per_task=6)),
    "more GPUs than the account may have": ("C112", replace(ON_GPU, account="tiny", gpus_per_node=2)),
    "more GPUs than the QOS may have": ("C113", replace(ON_GPU, qos="gpu4", nodes=2, gpus_per_node=3)),
    "the same, and the QOS is strict": ("C113", replace(ON_GPU, qos="strict", gpus_per_node=3)),
    "more time than the partition gives": ("C202", replace(SHORT, partition="dev", link_time=HOUR)),
    "more time than the account gives": ("C210", replace(TINY, link_time=HOUR)),
    "more time than the QOS gives": ("C210", replace(SHORT, qos="strict", link_time=HOUR)),
    "more links than an array holds": ("C205", replace(SHORT, links=10_001)),
    "more cores than a node has": ("C207", replace(SHORT, cpus_per_task=9)),
    "more cores than the partition has": ("C207", replace(SHORT, cpus_per_task=17)),
    "more nodes than the partition has": ("C212", replace(SHORT, nodes=3)),
    "more nodes than have these GPUs": ("C213", replace(ON_GPU, nodes=3, gpus_per_node=4)),
    "more memory than a node has": ("C214", replace(SHORT, memory_mb=64_001)),
    "more GPUs than a node has": ("C215", replace(ON_GPU, gpus_per_node=5)),
    "a kind of GPU that nobody has": ("C215", replace(ON_GPU, gpu_spelled="h100")),
    "the other way to ask for it": (
        "C215",
        replace(ON_GPU, gpu_spelled="h100", gpu_dialect=GpuDialect.GPUS_PER_NODE),
    ),
    "a feature that nobody has": ("C228", replace(SHORT, constraint="a100|h100")),
    "a partition that is not there": ("C229", replace(SHORT, partition="nosuch")),
    "more nodes, all of them whole": ("C212", replace(SHORT, nodes=3, cpus_per_task=8)),
    "a reservation that nobody has": ("C601", replace(SHORT, reservation="nosuch")),
}

TAKEN: dict[str, Plan] = {
    "a plain job": SHORT,
    "as many jobs as the account may have": replace(TINY, links=3),
    "as many CPUs": replace(TINY, cpus_per_task=4),
    "as much time as the account gives": replace(TINY, link_time=30 * MINUTE),
    "as much time as the partition gives": replace(SHORT, partition="dev", link_time=20 * MINUTE),
    "as many GPUs as the strict QOS gives": replace(ON_GPU, qos="strict", gpus_per_node=2),
    "as many nodes with these GPUs as there are": replace(ON_GPU, nodes=2, gpus_per_node=4),
    "a whole node": replace(ON_GPU, gpus_per_node=4, gpu_spelled="a100", cpus_per_task=8, memory_mb=64_000),
    "a feature that somebody has": replace(ON_GPU, constraint="a100|v100"),
}


@dataclass(frozen=True)
class Centre:
    """The cluster, seen by the user of a host."""

    cluster: SlurmCluster
    site: Site
    host: SshHost

    def find_errors(self, plan: Plan) -> dict[str, str | None]:
        """What the checks refuse, each with what Slurm says, from facts that were seen just now."""
        now = float(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout)
        facts = take_survey(self.host, self.site, now)
        awaited = (
            Cluster(self.host, self.site).look_at_known(list_awaited(plan.dependency)) if plan.dependency else None
        )
        case = Case(spec=SPEC, plan=plan, site=self.site, facts=facts, awaited=awaited, now=now)
        return {one.code: one.refusal for one in run_checks(case) if one.severity is Severity.ERROR}

    def submit(self, plan: Plan) -> str:
        """What sbatch says of the plan's own script, or why its job waits, in brackets; nothing when it runs."""
        here = replace(plan, folder=str(self.cluster.home("alice")))
        done = self.cluster.run_as("alice", "sbatch --parsable", stdin=make_script(here), check=False)
        if done.returncode:
            return done.stderr
        return self._watch(done.stdout.strip())

    def _watch(self, job: str) -> str:
        """A reason is written when the scheduler has looked at the job."""
        seen: list[str] = []

        def is_judged() -> bool:
            told = self.cluster.run_as("alice", f"squeue --noheader --jobs {job} --format='%T (%r)'", check=False)
            waiting = [line.partition(" ")[2] for line in told.stdout.splitlines() if line.startswith("PENDING")]
            # The other links of a chain wait for the one that has started.
            has_started = "RUNNING" in told.stdout or "(JobArrayTaskLimit)" in waiting or not waiting
            seen.append("" if has_started else waiting[0])
            return seen[-1] not in ("(None)", "(Priority)", "(Resources)")

        try:
            wait_until(is_judged, f"a reason for job {job}", timeout_s=40)
        finally:
            self.cluster.run_as("alice", f"scancel --quiet {job}", check=False)
        return seen[-1]


@pytest.fixture(scope="module")
def alice(slurm: SlurmCluster) -> Iterator[Centre]:
    slurm.reset()  # a reason tells of the limit only where no node is away
    site = Site(name="real", login=Login(host="login-direct"), root=str(slurm.home("alice") / "windlass"))
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="wl") as runtime:  # a socket's name is short
        host = SshHost(site, config=slurm.ssh_config, runtime=Path(runtime))
        yield Centre(slurm, site, host)
        host.close_master()


@pytest.mark.parametrize("what", REFUSED)
def test_slurm_says_what_the_check_quotes(alice: Centre, what: str) -> None:
    code, plan = REFUSED[what]

    quoted = alice.find_errors(plan)
    said = alice.submit(plan)

    assert list(quoted) == [code]
    assert str(quoted[code]) in said


@pytest.mark.parametrize("what", TAKEN)
def test_slurm_takes_what_no_check_refuses(alice: Centre, what: str) -> None:
    errors = alice.find_errors(TAKEN[what])
    said = alice.submit(TAKEN[what])

    assert errors == {}
    assert said == ""


def test_who_has_no_account_is_told_so(slurm: SlurmCluster) -> None:
    site = Site(name="real", login=Login(host="login-carol"), root=str(slurm.home("carol") / "windlass"))
    plan = replace(SHORT, account=None, folder=str(slurm.home("carol")))
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="wl") as runtime:
        host = SshHost(site, config=slurm.ssh_config, runtime=Path(runtime))
        quoted = Centre(slurm, site, host).find_errors(plan)
        host.close_master()

    said = slurm.run_as("carol", "sbatch --parsable", stdin=make_script(plan), check=False).stderr

    assert list(quoted) == ["C105"]
    assert str(quoted["C105"]) in said


def test_a_job_that_reaches_into_a_maintenance_window_waits(alice: Centre) -> None:
    long, short = replace(SHORT, link_time=5 * HOUR), replace(SHORT, link_time=2 * HOUR)

    with reserve("users=root", "flags=maint,ignore_jobs", "nodes=ALL", starts=timedelta(hours=4)):
        quoted, said = alice.find_errors(long), alice.submit(long)
        nothing = alice.find_errors(short)

    assert (list(quoted), said) == (["C604"], quoted["C604"])
    assert nothing == {}


def test_a_window_on_the_nodes_of_one_partition_is_seen_too(alice: Centre) -> None:
    long = replace(SHORT, link_time=5 * HOUR)

    with reserve("users=root", "flags=maint,ignore_jobs", "nodes=node[3-4]", starts=timedelta(hours=4)):
        quoted, elsewhere = alice.find_errors(long), alice.find_errors(replace(ON_GPU, link_time=5 * HOUR))

    assert list(quoted) == ["C604"]
    assert elsewhere == {}


def test_a_reservation_of_others_is_refused(alice: Centre) -> None:
    plan = replace(SHORT, reservation=RESERVATION)

    with reserve("users=bob", "nodes=node4", starts=timedelta(hours=4)):
        quoted, said = alice.find_errors(plan), alice.submit(plan)

    assert list(quoted) == ["C602"]
    assert str(quoted["C602"]) in said


@contextmanager
def reserve(*what: str, starts: timedelta) -> Iterator[None]:
    """A reservation by the administrator, an hour long, while the test looks at it."""
    begins = f"starttime=now+{int(starts.total_seconds())}"
    subprocess.run(
        ["scontrol", "create", f"reservation={RESERVATION}", begins, "duration=60", *what],
        capture_output=True,
        check=True,
        timeout=60,
    )
    try:
        yield
    finally:
        subprocess.run(
            ["scontrol", "delete", f"reservation={RESERVATION}"], capture_output=True, check=True, timeout=60
        )


@pytest.mark.parametrize(("ending", "kind"), [("exit 3", "afterok"), ("true", "afternotok")])
def test_a_dependency_that_can_never_come_true_waits_for_ever(alice: Centre, ending: str, kind: str) -> None:
    done = alice.cluster.run_as("alice", f"sbatch --wait --parsable --time=1 --wrap='{ending}'", check=False)
    awaited = replace(SHORT, dependency=f"{kind}:{done.stdout.strip()}")

    quoted = alice.find_errors(awaited)
    said = alice.submit(awaited)

    assert (list(quoted), said) == (["C605"], quoted["C605"])


def test_a_dependency_on_a_job_that_runs_or_ended_well_is_fine(alice: Centre) -> None:
    done = alice.cluster.run_as("alice", "sbatch --wait --parsable --time=1 --wrap=true")

    assert alice.find_errors(replace(SHORT, dependency=f"afterok:{done.stdout.strip()}")) == {}
