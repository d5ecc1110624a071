"""The agent on several nodes: the network test before the command, and what becomes of a node that cannot talk.

srun and sbatch are programs in front of the PATH; the tasks that this srun starts are the real ones, on loopback.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import PLAN
from tests.job.harness import OLDEST_AND_NEWEST, Job
from windlass.core.codec import to_json
from windlass.core.job import make_script
from windlass.edges.job_zip import make_job_zip

# One task a node, as srun does it; it starts none where the node $DEAD does not answer.
SRUN = """
while [[ $1 == --* ]]; do shift; done
if [ -n "$DEAD" ]; then
  echo "srun: error: Task launch for StepId=45.0 failed on node $DEAD: Communication connection failure" >&2
  echo "srun: error: Application launch failed: Communication connection failure" >&2
  exit 1
fi
for node in n1 n2 n3; do SLURMD_NODENAME=$node "$@" & done
wait
"""
MOVE = ("--network-test", "--replace-nodes")


@pytest.fixture(params=list(OLDEST_AND_NEWEST.values()), ids=list(OLDEST_AND_NEWEST))
def make_job(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Job]:
    def make(*options: str, **env: str) -> Job:
        job = Job(tmp_path, python=request.param, options=options)
        plan = replace(PLAN, folder=str(job.folder), nodes=3, links=3, network_test=True, replace_nodes=True)
        job.folder.mkdir()
        (job.folder / "windlass_job.pyz").write_bytes(make_job_zip())
        (job.folder / "job-1.sh").write_text(make_script(plan))
        (job.folder / "plan.json").write_bytes(to_json(plan))
        job.env = {
            # A block of this process's own.
            "SLURM_JOB_ID": str(os.getpid()),
            "SLURM_JOB_NODELIST": "n[1-3]",
            "WINDLASS_POCKET_JOB": "1",
            "WINDLASS_CHAIN": "array",
            **env,
        }
        job.add_program("srun", SRUN)
        job.add_program("sbatch", f'echo "$@" >> {tmp_path}/submitted; echo 99')
        return job

    return make


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_healthy_nodes_are_told_with_figures_and_the_command_runs(make_job: Callable[..., Job]) -> None:
    job = make_job(*MOVE)

    code = job.run("bash", "-c", "echo trained > trained")

    assert (code, read(job.home / "trained")) == (0, "trained\n")
    assert "windlass: network test: 3 nodes talk to each other, all-reduce of 4 MB in " in job.log
    kinds = [kind for kind in job.kinds if kind in ("network_tested", "command_started")]
    assert kinds == ["network_tested", "command_started"]
    (event,) = (event for event in job.events if event["kind"] == "network_tested")
    assert (event["is_well"], event["sick"], event["figures"]["nodes"]) == (True, [], 3)
    (place,) = (job.folder / "network").iterdir()
    assert sorted(path.name for path in place.iterdir()) == ["n1.json", "n2.json", "n3.json", "srun.log"]
    assert place.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("srun", "why"),
    [
        ("echo 'srun: error: Unable to create step for job 45: Job/step already completing' >&2; exit 1", "completing"),
        ("echo \"srun: unrecognized option '--label'\" >&2; exit 255", "unrecognized option"),
    ],
)
def test_a_test_that_cannot_be_made_is_no_reason_not_to_train(
    make_job: Callable[..., Job], srun: str, why: str
) -> None:
    job = make_job(*MOVE)
    job.add_program("srun", srun)

    assert job.run("touch", "trained") == 0
    assert (job.home / "trained").exists()
    assert "windlass: the network was not tested: srun: " in job.log
    assert why in job.log


def test_one_node_has_nobody_to_talk_to(make_job: Callable[..., Job]) -> None:
    job = make_job(*MOVE, SLURM_JOB_NODELIST="n1")

    assert job.run("true") == 0
    assert "network" not in read(job.home / "job.log")


def test_without_a_sick_node_the_rest_is_submitted_again(make_job: Callable[..., Job]) -> None:
    job = make_job(*MOVE, DEAD="n3", WINDLASS_LINK="2", SLURM_ARRAY_JOB_ID="45")
    job.env.update(SLURM_ARRAY_TASK_ID="2", SLURM_ARRAY_TASK_MAX="3")
    job.add_program("scancel", f'echo "$@" >> {job.home}/cancelled')

    code = job.run("touch", "trained")

    assert code == 0
    assert not (job.home / "trained").exists()
    assert read(job.home / "submitted") == f"--parsable {job.folder}/job-2.sh\n"
    assert read(job.home / "cancelled") == "45_[3-3]\n"
    assert job.status["state"] == "moved"
    sentence = "n3 did not take part: Communication connection failure: submitted again without it as job 99"
    assert job.status["reason"] == sentence
    (made,) = job.status["successors"]
    assert (made["number"], made["job_id"], made["first_link"], made["links"]) == (2, "99", 2, 2)
    assert "#SBATCH --exclude=n3\n" in read(job.folder / "job-2.sh")
    assert sentence in job.log


def test_a_later_link_of_a_moved_run_leaves_at_once_and_the_new_job_trains(make_job: Callable[..., Job]) -> None:
    job = make_job(*MOVE, DEAD="n3")
    job.run("true")
    old = dict(job.env)
    job.env.update(WINDLASS_LINK="2", DEAD="")

    assert job.run("touch", "too-much") == 0
    assert not (job.home / "too-much").exists()
    assert job.status["state"] == "moved"

    job.env = {**old, "DEAD": "", "WINDLASS_SUBMISSION": "2", "SLURM_JOB_ID": "99", "SLURM_JOB_NODELIST": "n[1-3]"}
    assert job.run("touch", "trained") == 0
    assert (job.status["state"], job.status["submission"]) == ("done", 2)
    assert [made["number"] for made in job.status["successors"]] == [2]


def test_who_was_told_to_stop_does_not_go_on_in_another_job(make_job: Callable[..., Job]) -> None:
    job = make_job(*MOVE, DEAD="n3")
    job.run("true")
    (job.folder / "stop").write_text("1\n")  # by a laptop that did not know of the second submission yet
    job.env.update(WINDLASS_SUBMISSION="2", SLURM_JOB_ID="99", DEAD="")

    assert job.run("touch", "trained") == 0
    assert not (job.home / "trained").exists()
    assert "told to stop" in job.log


@pytest.mark.parametrize(
    ("options", "sbatch", "why"),
    [
        (("--network-test",), "echo 99", ""),
        (MOVE, "echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1", "not submitted again without it: "),
    ],
    ids=["not allowed", "refused"],
)
def test_where_it_cannot_go_on_elsewhere_it_fails_with_a_command_to_paste(
    make_job: Callable[..., Job], options: tuple[str, ...], sbatch: str, why: str
) -> None:
    job = make_job(*options, DEAD="n3")
    job.add_program("sbatch", sbatch)

    code = job.run("touch", "trained")

    assert (code, job.status["state"], job.status["exit_code"]) == (122, "failed", 122)
    assert not (job.home / "trained").exists()
    assert job.status["reason"].startswith("n3 did not take part: Communication connection failure; " + why)
    assert job.status["reason"].endswith("windlass resume digits-k3f9w --exclude n3")
    assert json.loads(read(job.folder / "plan.json"))["number"] == 1
