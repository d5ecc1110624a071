"""What each task sees of its node."""

import pytest

from windlass_job.farming.node import load_node, make_all_variables
from windlass_job.farming.slots import Need, plan_slots

ONE_GPU = Need(cpus=2, gpus=1, memory_mb=0, share=1)


def see(env: dict[str, str], need: Need = ONE_GPU, *, slots: int = 4) -> list[dict[str, str]]:
    """What a pilot with these variables gives to its tasks, laid over its own."""
    node = load_node(env)._replace(cpus=slots * need.cpus, cores=[])
    return [{**env, **one} for one in make_all_variables(plan_slots(node, need), need, env)]


def test_slurm_speaks_to_a_task_of_what_the_task_has() -> None:
    env = {
        "SLURM_CPUS_PER_TASK": "8",
        "SRUN_CPUS_PER_TASK": "8",
        "SLURM_CPUS_ON_NODE": "8",
        "SLURM_JOB_CPUS_PER_NODE": "8",
        "SLURM_GPUS_ON_NODE": "4",
        "SLURM_MEM_PER_NODE": "64000",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
    }

    first, *_, last = see(env)

    assert first["CUDA_VISIBLE_DEVICES"] == "0"
    assert last == {
        **first,
        "CUDA_VISIBLE_DEVICES": "3",
        "SLURM_CPUS_PER_TASK": "2",
        "SRUN_CPUS_PER_TASK": "2",
        "SLURM_CPUS_ON_NODE": "2",
        "SLURM_JOB_CPUS_PER_NODE": "2",
        "SLURM_GPUS_ON_NODE": "1",
        "SLURM_MEM_PER_NODE": "16000",
    }


def test_memory_that_a_task_asked_for_is_what_it_is_told() -> None:
    env = {"SLURM_MEM_PER_NODE": "64000"}

    assert see(env, Need(cpus=1, gpus=0, memory_mb=3000, share=1))[0]["SLURM_MEM_PER_NODE"] == "3000"


def test_what_slurm_did_not_say_to_the_pilot_is_said_to_no_task() -> None:
    told = see({})[0]

    assert told["SLURM_CPUS_PER_TASK"] == "2"
    assert {"SLURM_MEM_PER_NODE", "SLURM_GPUS_ON_NODE", "SRUN_CPUS_PER_TASK"}.isdisjoint(told)


@pytest.mark.parametrize(
    "name", ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"]
)
def test_a_gpu_is_named_in_the_variable_in_which_the_pilot_found_it(name: str) -> None:
    told = see({name: "4,5,6,7"})

    assert [one[name] for one in told] == ["4", "5", "6", "7"]
    assert all(one.keys() & {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} <= {name} for one in told)


def test_where_both_are_there_only_the_outer_one_is_narrowed() -> None:
    """HIP counts CUDA_VISIBLE_DEVICES among what ROCR_VISIBLE_DEVICES left: of one GPU there is no third."""
    told = see({"CUDA_VISIBLE_DEVICES": "0,1,2,3", "ROCR_VISIBLE_DEVICES": "0,1,2,3"})

    assert [one["CUDA_VISIBLE_DEVICES"] for one in told] == ["0", "1", "2", "3"]
    assert {one["ROCR_VISIBLE_DEVICES"] for one in told} == {"0,1,2,3"}


def test_a_task_without_a_gpu_sees_none() -> None:
    env = {"ROCR_VISIBLE_DEVICES": "0,1", "ZE_AFFINITY_MASK": "0,1"}

    (told, *_) = see(env, Need(cpus=1, gpus=0, memory_mb=0, share=1))

    assert (told["CUDA_VISIBLE_DEVICES"], told["ROCR_VISIBLE_DEVICES"]) == ("", "")
