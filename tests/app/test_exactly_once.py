"""Whatever dies while a job is submitted, there is afterwards exactly the job that the record says, or none."""

import os
import random
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from tests.app import trials
from tests.app.trials import Bench, count_jobs, make_client_kill, make_deputy_kill, open_bench
from tests.app.victims import CLIENT_POINTS, Place, Victim, cancel, look, run_command, submit
from tests.cluster.cluster import SlurmCluster
from tests.conftest import Places
from tests.waiting import wait_until
from windlass.core.record import RunRecord, RunState
from windlass_job.faults import FAULT_POINTS, VARIABLE

HOSTS = ("login-direct", "login", "login-direct", "login-direct", "login", "login-direct")

# What is killed -> how it is done, and how often.
KILLS: dict[str, tuple[Callable[[Bench], None], int]] = {
    **{f"client {point}": (make_client_kill(point), 5) for point in CLIENT_POINTS},
    "client at any moment": (trials.kill_client, 60),
    "client, deputy asleep": (trials.kill_client_of_stopped_deputy, 25),
    "client, sbatch slow": (trials.kill_client_of_slow_sbatch, 12),
    "client, sbatch asleep": (trials.kill_client_of_stopped_sbatch, 8),
    "ssh": (trials.kill_ssh, 30),
    "ssh's master": (trials.kill_master, 15),
    **{f"deputy {point}": (make_deputy_kill(point), 4) for point in FAULT_POINTS},
    "deputy at any moment": (trials.kill_deputy, 20),
    "sbatch": (trials.kill_sbatch, 20),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / f"once{time.time_ns() // 1_000_000}"  # its jobs are told apart from an earlier test's
    folder.mkdir()
    (folder / "train.py").write_text("pass\n")
    (folder / "windlass.toml").write_text(
        f'[run]\nname = "{folder.name}"\ncommand = "true"\n[resources]\ntime = "10m"\ncpus = 1\nmemory = "100M"\n'
    )
    return folder


@dataclass(frozen=True, kw_only=True)
class Trial:
    kind: str
    run_id: str | None
    state: str  # what the next command said
    then: str  # what a resume, or a new run, of one that was not submitted said
    tokens: frozenset[str]  # the jobs there must be


@pytest.mark.slurm
@pytest.mark.slow
def test_killed_at_every_step_each_run_is_submitted_once_or_not_at_all(
    slurm: SlurmCluster, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slurm.reset()
    kinds = [kind for kind, (_, count) in KILLS.items() for _ in range(count)]
    random.Random(1).shuffle(kinds)
    waiting: SimpleQueue[str] = SimpleQueue()
    for kind in kinds:
        waiting.put(kind)

    start = time.monotonic()
    with ExitStack() as stack:
        benches = [stack.enter_context(open_bench(slurm, project, i, host)) for i, host in enumerate(HOSTS)]
        with ThreadPoolExecutor(len(benches)) as pool:
            done = [trial for some in pool.map(lambda bench: list(_work(bench, waiting)), benches) for trial in some]
        # What comes late comes now: nothing may be on its way any more.
        time.sleep(2)
        found = count_jobs(project.name)
    slurm.cancel_all()

    with capsys.disabled():
        print("\n" + _make_table(done, time.monotonic() - start))
        print(f"{sum(bench.late for bench in benches)} of the kills at random moments came when it was over")
    expected = Counter(token for trial in done for token in trial.tokens)
    assert found == expected, [
        trial for trial in done if str(trial.run_id) in str(found - expected + (expected - found))
    ]
    assert sum(trial.kind != "nothing" for trial in done) - sum(bench.late for bench in benches) >= 200


@pytest.mark.slurm
@pytest.mark.slow
def test_a_controller_that_is_down_leaves_it_unclear_until_it_is_back(slurm: SlurmCluster, project: Path) -> None:
    """One goes down before the submission, and, of the other bench, while sbatch is on its way."""
    slurm.reset()
    with ExitStack() as stack:
        benches = [stack.enter_context(open_bench(slurm, project, number, "login-direct")) for number in (1, 2)]
        before, during = benches
        submitted = [token for bench in benches for token in _start(bench)]
        before.tell(sbatch_takes=(0, 0))
        during.tell(sbatch_takes=(1, 0))
        victim = Victim(submit, during.place)
        during.read_pid("sbatch")
        slurm.stop_controller()
        try:
            told = [one.end() for one in (victim, Victim(submit, before.place))]
            with ThreadPoolExecutor(len(benches)) as pool:
                looked = list(pool.map(lambda bench: run_command(look, bench.place), benches))
        finally:
            slurm.start_controller()
            wait_until(lambda: not slurm.run_as("alice", "squeue", check=False).returncode, "the controller is back")

        records = [bench.look_for_new() for bench in benches]
        again = [bench.resume(record) for bench, record in zip(benches, records, strict=True) if record is not None]
        found = count_jobs(project.name)
    slurm.cancel_all()

    assert ["SubmissionUnclear" in str(one.problem) for one in told] == [True, True]
    assert ["ClusterUnavailable" in str(one.problem) for one in looked] == [True, True]
    assert [record and record.state for record in records] == [RunState.NOT_SUBMITTED] * 2
    assert found == Counter([*submitted, *(one.records[0].submissions[-1].token for one in again)])


@pytest.mark.slurm
@pytest.mark.slow
def test_a_job_that_slurm_forgot_is_lost_though_its_number_is_another_jobs(slurm: SlurmCluster, project: Path) -> None:
    """Killed within seconds of a submission, slurmctld forgets it and gives its number to the next job."""
    slurm.reset()
    with open_bench(slurm, project, 1, "login-direct") as bench:
        for _ in range(5):
            bench.tell()
            (record,) = run_command(submit, bench.place).records
            slurm.stop_controller(kill=True)
            slurm.start_controller()
            wait_until(lambda: not slurm.run_as("alice", "squeue", check=False).returncode, "the controller is back")
            stranger = slurm.run_as("alice", "sbatch --parsable --hold --wrap=true").stdout.strip()
            if stranger == record.job_id:
                break
        else:
            pytest.skip("this slurmctld forgot nothing, five times over")

        seen = next(one for one in bench.look() if one.run_id == record.run_id)
        run_command(cancel, bench.place, record.run_id)
        (again,) = bench.resume(record).records
        found = count_jobs(record.run_id)
        queue = slurm.run_as("alice", "squeue --noheader --format=%i").stdout.split()
    slurm.cancel_all()

    assert seen.state is RunState.LOST
    assert stranger in queue
    assert again.job_id not in (stranger, None)
    assert found == {again.submissions[-1].token: 1}


def test_on_pocket_a_deputy_that_dies_anywhere_sends_at_most_once(places: Places, project: Path) -> None:
    (places.pocket / "pocket.toml").write_text("idle_s = 1\nkill_wait_s = 1\n")
    place = Place(env=dict(os.environ), project=project, site="here")
    for point in FAULT_POINTS:
        run_command(submit, Place(env={**os.environ, VARIABLE: point}, project=project, site="here"))

    told = run_command(look, place)
    jobs = subprocess.run(
        [places.pocket / "bin" / "sacct", "-X", "-n", "-P", "-o", "Comment"], capture_output=True, text=True, check=True
    )

    assert told.problem is None
    assert RunState.SUBMITTING not in {record.state for record in told.records}
    assert Counter(jobs.stdout.split()) == Counter(token for record in told.records for token in _tokens(record))
    assert len(told.records) == len(FAULT_POINTS)


def _start(bench: Bench) -> list[str]:
    """The tokens of two submissions in good weather."""
    bench.measure()
    records = bench.look()
    bench.known |= {record.run_id for record in records}
    return [token for record in records for token in _tokens(record)]


def _work(bench: Bench, waiting: "SimpleQueue[str]") -> Iterator[Trial]:
    bench.measure()
    for record in bench.look():
        bench.known.add(record.run_id)
        yield Trial(kind="nothing", run_id=record.run_id, state=record.state, then="", tokens=_tokens(record))
    while True:
        try:
            kind = waiting.get_nowait()
        except Empty:
            return
        yield _try(bench, kind)


def _try(bench: Bench, kind: str) -> Trial:
    KILLS[kind][0](bench)
    record = bench.look_for_new()
    if record is None:
        return Trial(kind=kind, run_id=None, state="no trace", then="", tokens=frozenset())
    then, tokens = "", _tokens(record)
    if record.state is RunState.NOT_SUBMITTED and bench.random.random() < 0.5:
        told = bench.resume(record)
        then = "resumed" if told.records else "run anew" if "RunFolderGone" in str(told.problem) else str(told.problem)
        tokens = frozenset(token for one in told.records for token in _tokens(one))
    return Trial(kind=kind, run_id=record.run_id, state=record.state, then=then, tokens=tokens)


def _tokens(record: RunRecord) -> frozenset[str]:
    assert record.state in (RunState.WAITING, RunState.NOT_SUBMITTED, RunState.RUNNING, RunState.DONE), record
    return frozenset(one.token for one in record.submissions if one.job_id is not None)


def _make_table(done: list[Trial], seconds: float) -> str:
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for trial in done:
        outcomes[trial.kind][" -> ".join(filter(None, (trial.state, trial.then)))] += 1
    lines = [f"{'what died':<28} trials  outcomes"]
    for kind in sorted(outcomes):
        words = ", ".join(f"{count} {word}" for word, count in outcomes[kind].most_common())
        lines.append(f"{kind:<28} {outcomes[kind].total():>6}  {words}")
    return "\n".join([*lines, f"{'together':<28} {len(done):>6}  in {seconds:.0f} s"])
