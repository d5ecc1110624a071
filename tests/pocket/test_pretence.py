"""Pocket as another machine: its names, its clock, its refusals, and one start at a time."""

import pytest

from tests.pocket.conftest import Pocket, wait_for
from windlass.pocket.pretence import Clock

PRETEND = '[pretend]\nnode = "gpu{:03}"\ncluster = "alpha"\n'


def test_a_day_is_over_in_a_moment_and_the_notice_comes_before(pocket: Pocket) -> None:
    pocket.configure(PRETEND + "time_scale = 0.00002\nnotice_s = 2\n")
    script = "trap 'echo told; exit 0' USR1; while true; do sleep 0.1; done"

    job = pocket.submit(script, "--time=1-00:00:00", "--signal=B:USR1@120")

    assert pocket.wait(job).state == "COMPLETED"
    assert "told" in pocket.output(job)


def test_nodes_gpus_and_cluster_are_called_as_there(pocket: Pocket) -> None:
    pocket.configure(PRETEND)

    job = pocket.submit(
        "echo $SLURM_JOB_NODELIST $SLURM_CLUSTER_NAME\nsrun bash -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'",
        "--nodes=2",
        "--ntasks-per-node=1",
        "--gres=gpu:2",
    )
    pocket.wait(job)

    assert sorted(pocket.output(job).split("\n")) == ["", "gpu001 0,1", "gpu002 0,1", "gpu[001-002] alpha"]


def test_a_job_is_started_only_when_its_turn_is_allowed(pocket: Pocket) -> None:
    pocket.configure(PRETEND + "starts = 1\n")
    first = pocket.submit("true", "--array=1-2%1")
    wait_for(lambda: "WaitsForRehearsal" in pocket.squeue("%r"))

    pocket.configure(PRETEND + "starts = 2\n")

    wait_for(lambda: not pocket.squeue("%i"))
    assert pocket.sacct(first, "State", "-X") == ["COMPLETED"] * 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--account=other"], "Invalid account or account/partition combination specified"),
        (["--qos=other"], "Invalid qos specification"),
        (["--nodes=3"], "Node count specification invalid"),
        (["--partition=other"], "Invalid partition name specified"),
        (["--time=2-00:00:00"], "Requested time limit is invalid"),
    ],
)
def test_what_the_site_has_not_is_refused(pocket: Pocket, words: list[str], said: str) -> None:
    queue = '[partitions.normal]\nmax_time = "1-00:00:00"\nmax_nodes = 2\ndefault = true\n'
    pocket.configure(PRETEND + 'accounts = ["mine"]\nqos = ["plain"]\n' + queue)

    refused = pocket.run("sbatch", *words, "--wrap", "true", code=1)

    assert said in refused.stderr


def test_module_loads_nothing_and_notes_what_was_asked(pocket: Pocket) -> None:
    notes = pocket.folder / "modules"
    pocket.configure(f'{PRETEND}modules = "{notes}"\n')

    job = pocket.submit("module purge\nmodule load python/3.11 cuda\necho went on")
    pocket.wait(job)

    assert "went on" in pocket.output(job)
    assert notes.read_text().splitlines() == ["purge", "load python/3.11 cuda"]


def test_a_whole_node_is_given_where_the_site_gives_no_less(pocket: Pocket) -> None:
    pocket.configure(PRETEND + "whole_nodes = true\nunasked_gpus = 1\n")

    job = pocket.submit("echo $SLURM_CPUS_ON_NODE $SLURM_GPUS_ON_NODE", "--cpus-per-task=1")
    pocket.wait(job)

    assert pocket.output(job).split() == ["4", "1"]


def test_the_notice_is_not_shrunk_below_what_saving_needs() -> None:
    clock = Clock(scale=0.001, notice_s=10)

    assert clock.shrink_lead(120) == 10
    assert clock.shrink_lead(5) == 5
    assert clock.shrink_limit(86400, 120) == 96
    assert clock.shrink_limit(None, 120) is None
    assert Clock().shrink_limit(86400, 120) == 86400


def test_a_limit_that_is_changed_is_shrunk_too_and_leaves_what_there_was() -> None:
    clock = Clock(scale=0.001, notice_s=10)

    assert clock.shrink_change(86400, 30) == 86
    assert clock.shrink_change(3600, 30) == 30
    assert Clock().shrink_change(3600, 30) == 3600
