"""The cluster itself: what the other tests on it take for granted."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import NODES, SlurmCluster
from tests.waiting import wait_until

pytestmark = pytest.mark.slurm


@pytest.fixture(autouse=True)
def _leave_it_idle(slurm: SlurmCluster) -> Iterator[None]:
    yield
    slurm.reset()


def test_starting_it_again_changes_nothing(slurm: SlurmCluster) -> None:
    job = _submit(slurm, "--begin=now+1hour --wrap=true")

    slurm.start()

    assert _state(slurm, job) == "PENDING"


def test_four_nodes_are_idle(slurm: SlurmCluster) -> None:
    nodes = slurm.run_as("alice", "sinfo -h -p dev -N -o '%N %T %G'").stdout

    assert nodes.splitlines() == [
        "node1 idle gpu:a100:4",
        "node2 idle gpu:a100:4",
        "node3 idle gpu:v100:2",
        "node4 idle (null)",
    ]


def test_a_job_sees_the_gpus_it_was_given(slurm: SlurmCluster) -> None:
    script = """
        echo "$CUDA_VISIBLE_DEVICES"
        ls /dev/nvidia[0-9] | wc -l
        for gpu in /dev/nvidia[0-9]; do (: < "$gpu") 2>&1 | grep -o 'not permitted\\|No such device'; done
    """

    lines = _srun(slurm, "-p gpu --gres=gpu:a100:2", script)

    assert lines[:2] == ["0,1", "4"]
    if slurm.has_cgroups:
        assert sorted(lines[2:]) == ["No such device"] * 2 + ["not permitted"] * 2


def test_every_node_has_its_own_name_and_files(slurm: SlurmCluster) -> None:
    lines = _srun(slurm, "-p dev -N4 -l", "touch /tmp/here.$(hostname); hostname; echo /tmp/here.*")

    words = {line.split(": ", 1)[1] for line in lines}
    assert words == set(NODES) | {f"/tmp/here.{node}" for node in NODES}


def test_a_job_has_scratch_that_goes_away(slurm: SlurmCluster) -> None:
    (scratch,) = _srun(slurm, "-w node4", 'touch "$SLURM_TMPDIR/file" && echo "$SLURM_TMPDIR"')

    slurm.wait_until_idle()

    assert scratch.startswith("/localscratch/alice.")
    assert slurm.run_on_node(4, "ls /localscratch").stdout == ""


def test_nodes_cannot_reach_the_outside(slurm: SlurmCluster) -> None:
    assert "default" not in slurm.run_on_node(1, "ip route").stdout


@pytest.mark.parametrize(
    ("user", "options", "words"),
    [
        ("alice", "-p dev -t 21", "Requested time limit is invalid"),
        ("alice", "-q strict -t 31", "QOSMaxWallDurationPerJobLimit"),
        ("alice", "-A nosuch", "Invalid account or account/partition combination"),
        ("alice", "-A tiny --array=1-4", "AssocMaxSubmitJobLimit"),
        ("bob", "-A rrg-prof", "Invalid account or account/partition combination"),
        ("carol", "", "Invalid account or account/partition combination"),
        ("alice", "-p gpu --gres=gpu:h100:1", "Requested node configuration is not available"),
    ],
)
def test_what_the_rules_forbid_is_refused(slurm: SlurmCluster, user: str, options: str, words: str) -> None:
    refused = slurm.run_as(user, f"sbatch {options} --wrap=true", check=False)

    assert refused.returncode == 1
    assert words in refused.stderr


def test_an_account_with_a_short_limit_leaves_the_job_pending(slurm: SlurmCluster) -> None:
    job = _submit(slurm, "-A tiny -t 31 --wrap=true")

    wait_until(lambda: _reason(slurm, job) == "AssocMaxWallDurationPerJobLimit", "the reason why it waits")


def test_an_array_runs_one_task_at_a_time(slurm: SlurmCluster) -> None:
    job = _submit(slurm, "--array=1-3%1 --wrap='sleep 60'")

    wait_until(lambda: f"{job}_1 RUNNING" in _queue(slurm), "the first task")

    assert f"{job}_[2-3%1] PENDING" in _queue(slurm)


def test_a_job_that_takes_too_much_memory_is_killed(slurm: SlurmCluster) -> None:
    if not slurm.has_cgroups:
        pytest.skip("this machine has no cgroups v1 that can be written")

    job = _submit(slurm, """--mem=100M --wrap='python3 -c "bytearray(10**9)"'""")

    wait_until(lambda: _state(slurm, job) == "OUT_OF_MEMORY", "the state of the job")


def test_modules_in_a_batch_job(slurm: SlurmCluster) -> None:
    script = "#!/bin/bash -l\nmodule load pytorch/2.3 openmpi && echo $EBROOTPYTORCH $EBROOTOPENMPI\n"

    job = slurm.run_as("alice", "sbatch --parsable -o modules.out", stdin=script).stdout.strip()
    wait_until(lambda: _state(slurm, job) == "COMPLETED", "the end of the job")

    assert (slurm.home("alice") / "modules.out").read_text() == "/opt/pytorch-2.3 /opt/openmpi-4.1.5\n"


@pytest.mark.parametrize(
    ("host", "answer"),
    [
        ("login", "login1 alice"),
        ("login-direct", "login1 alice"),
        ("jump", "gateway alice"),
        ("login-bob", "login1 bob"),
        ("login-carol", "login1 carol"),
    ],
)
def test_ssh(slurm: SlurmCluster, host: str, answer: str) -> None:
    assert _ssh(slurm, host, 'echo "$(hostname) $(whoami)"').stdout.strip() == answer


def test_ssh_to_a_node_needs_a_job_there(slurm: SlurmCluster) -> None:
    if not slurm.has_cgroups:
        pytest.skip("pam_slurm_adopt needs cgroups v1")

    refused = _ssh(slurm, "login", "ssh node1 hostname")
    job = _submit(slurm, "-p dev -w node1 --wrap='sleep 60'")
    wait_until(lambda: _state(slurm, job) == "RUNNING", "the job")
    allowed = _ssh(slurm, "login", "ssh node1 hostname")

    assert "you have no active jobs on this node" in refused.stderr
    assert allowed.stdout.strip() == "node1"


@pytest.mark.slow
def test_a_job_is_preempted(slurm: SlurmCluster) -> None:
    low = _submit(slurm, "-p preempt -w node2 --gres=gpu:a100:4 --wrap='sleep 60'")
    wait_until(lambda: _state(slurm, low) == "RUNNING", "the first job")

    _submit(slurm, "-p gpu -w node2 --gres=gpu:a100:4 --wrap=true")

    wait_until(lambda: "PREEMPTED" in _history(slurm, low), "the end of the first job")


@pytest.mark.slow
def test_a_job_is_requeued_when_its_node_dies(slurm: SlurmCluster) -> None:
    job = _submit(slurm, "-p dev -w node1 --wrap='sleep 300'")
    wait_until(lambda: _state(slurm, job) == "RUNNING", "the job")

    slurm.kill_node(1)
    wait_until(lambda: _state(slurm, job) == "PENDING", "the job in the queue again", timeout_s=90)

    assert "NODE_FAIL" in _history(slurm, job)


@pytest.mark.slow
def test_a_job_goes_on_behind_a_cut_cable(slurm: SlurmCluster) -> None:
    mark = slurm.home("alice") / "beyond"
    for left in (mark, mark.with_suffix(".go")):  # by an earlier run on a cluster that was kept
        left.unlink(missing_ok=True)
    job = _submit(slurm, f"-p dev -w node2 --wrap='until [ -e {mark}.go ]; do sleep 0.2; done; touch {mark}'")
    wait_until(lambda: _state(slurm, job) == "RUNNING", "the job")

    slurm.cut_network(2)
    mark.with_suffix(".go").touch()

    wait_until(mark.exists, "the file written beyond the cut")


def test_a_job_survives_a_restart_of_the_controller(slurm: SlurmCluster) -> None:
    job = _submit(slurm, "--wrap='sleep 60'")
    wait_until(lambda: _state(slurm, job) == "RUNNING", "the job")

    slurm.stop_controller()
    unanswered = slurm.run_as("alice", "scontrol ping", check=False)
    slurm.start_controller()

    assert "is DOWN" in unanswered.stdout
    assert f"{job} RUNNING" in _queue(slurm)


def test_jobs_run_without_the_database(slurm: SlurmCluster) -> None:
    slurm.stop_database()

    unanswered = slurm.run_as("alice", "sacct", check=False)
    lines = _srun(slurm, "", "echo ran")

    slurm.start_database()
    assert unanswered.returncode == 1
    assert lines == ["ran"]


def test_reset_mends_everything_at_once(slurm: SlurmCluster) -> None:
    _submit(slurm, "--wrap='sleep 300'")
    slurm.stop_controller(kill=True)
    slurm.stop_database()
    slurm.kill_node(3)
    slurm.cut_network(4)

    slurm.reset()

    assert slurm.is_up()
    assert slurm.is_idle()


def _submit(slurm: SlurmCluster, options: str) -> str:
    return slurm.run_as("alice", f"sbatch --parsable -o /dev/null {options}").stdout.strip()


def _srun(slurm: SlurmCluster, options: str, script: str) -> list[str]:
    return slurm.run_as("alice", f"srun -Q {options} bash -s", stdin=script).stdout.splitlines()


def _queue(slurm: SlurmCluster) -> list[str]:
    return slurm.run_as("alice", "squeue -h -o '%i %T'").stdout.splitlines()


def _state(slurm: SlurmCluster, job: str) -> str:
    return _field(slurm, job, "JobState")


def _reason(slurm: SlurmCluster, job: str) -> str:
    return _field(slurm, job, "Reason")


def _field(slurm: SlurmCluster, job: str, name: str) -> str:
    words = slurm.run_as("alice", f"scontrol show job {job}").stdout.split()
    return next(word.split("=", 1)[1] for word in words if word.startswith(f"{name}="))


def _history(slurm: SlurmCluster, job: str) -> list[str]:
    return slurm.run_as("alice", f"sacct -D -n -X -P -j {job} -o state").stdout.splitlines()


def _ssh(slurm: SlurmCluster, host: str, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["ssh", "-F", slurm.ssh_config, host, command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
