"""GPUs of the centres: how many of which kind a node has, how they are asked for, and what runs on them."""

from dataclasses import replace

import pytest

from tests.builders import HOUR, SPEC, plan_for
from tests.inventory.cases import find, list_codes, make_case
from tests.sites.shipped import load
from windlass.core.job import make_script
from windlass.core.run import Resources
from windlass.core.source.code import Binary, Code, Language, SourceFile
from windlass.errors import PlanError

# row: site, partition, kind, GPUs of one node
NODES = {
    "SD-03": ("sdumont", "nvidia", "k40", 2),
    "SD-04": ("sdumont", "gdl", "v100", 8),
    "SD-05": ("sdumont", "sequana_gpu_shared", "v100", 4),
    "CS-05": ("daint", "normal", "p100", 1),
    "JS-04": ("jureca-dc", "dc-gpu", "a100", 4),
    "JS-05": ("juwels-booster", "booster", "a100", 4),
    "WI-14": ("wilson", "gpu_gce", "a100", 4),
    "WI-15": ("wilson", "gpu_gce", "v100", 2),
    "WI-16": ("wilson", "gpu_gce", "p100", 8),
    "WI-17": ("wilson", "gpu_gce", "p100nvlink", 2),
    "WI-18": ("wilson", "gpu_gce_ppc", "v100nvlinkppc64", 4),
}
TORCH = (
    SourceFile(path="train.py", text="import torch\n", language=Language.PYTHON),
    SourceFile(path="requirements.txt", text="torch==1.13.1\n", language=Language.OTHER),
)


@pytest.mark.parametrize("row", NODES)
def test_all_gpus_of_a_node_can_be_asked_for_and_not_one_more(row: str) -> None:
    name, partition, kind, most = NODES[row]
    asked = Resources(partition=partition, nodes=1, gpu=kind, gpus_per_node=most, time=HOUR)

    plan = plan_for(asked, site=load(name))

    assert (plan.partition, plan.nodes, plan.gpus_per_node) == (partition, 1, most)
    with pytest.raises(PlanError) as refused:
        plan_for(replace(asked, gpus_per_node=most + 1), site=load(name))
    assert f"its nodes have {most} GPU" in str(refused.value)


def test_more_memory_than_a_node_has_is_refused_with_both_numbers() -> None:
    """SD-03."""
    with pytest.raises(PlanError, match="its nodes have 64000 MB of memory, you ask for 70000 MB"):
        plan_for(Resources(gpus=1, gpu="k40", memory_mb=70_000, time=HOUR), site=load("sdumont"))


@pytest.mark.parametrize(
    ("partition", "codes"),
    [("nvidia_dev", ["C306"]), ("nvidia", ["C306"]), ("gdl", []), ("sequana_gpu_shared", [])],
)
def test_the_usual_torch_runs_only_where_the_v100_are(partition: str, codes: list[str]) -> None:
    """SD-23."""
    asked = Resources(partition=partition, gpus=1, time=HOUR / 4)
    case = make_case("sdumont", asked, code=Code(files=TORCH))

    assert [code for code in list_codes(case) if code.startswith("C3")] == codes


def test_where_old_gpus_need_another_build_it_is_named() -> None:
    """SD-26."""
    case = make_case("sdumont", Resources(partition="nvidia", gpus=1, time=HOUR), code=Code(files=TORCH))

    assert "nelsonliu" in (find(case, "C306").hint or "")


def test_a_partition_whose_gpus_would_do_is_named() -> None:
    """SD-23."""
    case = make_case("sdumont", Resources(partition="nvidia_dev", gpus=1, time=HOUR / 4), code=Code(files=TORCH))

    assert "--partition gdl (v100)" in (find(case, "C306").hint or "")


def test_a_run_that_names_no_kind_is_not_sent_to_gpus_that_torch_forgot() -> None:
    """SD-23."""
    plan = plan_for(Resources(gpus=1, time=HOUR), site=load("sdumont"))

    assert plan.partition in ("gdl", "sequana_gpu_shared")


def test_a_program_for_another_processor_is_refused_on_the_power9() -> None:
    """WI-13, WI-18."""
    binaries = Code(binaries=(Binary(path="solver", architecture="x86_64"),))
    power9 = make_case("wilson", Resources(gpus=1, gpu="v100nvlinkppc64", time=HOUR), code=binaries)
    intel = make_case("wilson", Resources(gpus=1, gpu="v100", time=HOUR), code=binaries)

    assert find(power9, "C309").message == "solver is made for x86_64; nodes of gpu_gce_ppc are ppc64le"
    assert "C309" not in list_codes(intel)


def test_without_a_kind_any_gpu_may_come_and_this_is_told() -> None:
    """WI-19."""
    case = make_case("wilson", Resources(gpus=1, time=HOUR))

    assert "#SBATCH --gres=gpu:1\n" in make_script(case.plan)
    assert "the first that is free is taken" in find(case, "C217").message


def test_several_nodes_get_gpus_of_one_kind() -> None:
    """WI-20."""
    plan = plan_for(Resources(nodes=2, gpus=4, time=HOUR), site=load("wilson"))

    assert plan.gpu_spelled == "v100"
    assert "one job cannot have GPUs of two kinds here" in [reason.why for reason in plan.reasons]


@pytest.mark.parametrize(
    ("kind", "cores", "memory_gb"),
    [("a100", 16, 126), ("v100", 20, 92), ("p100", 2, 92), ("p100nvlink", 14, 500), ("v100nvlinkppc64", 8, 250)],
)
def test_one_gpu_gets_no_more_than_its_share_of_the_node(kind: str, cores: int, memory_gb: int) -> None:
    """WI-36."""
    plan = plan_for(Resources(gpus=1, gpu=kind, time=HOUR), site=load("wilson"))

    assert plan.cpus_per_task <= cores
    assert 0 < (plan.memory_mb or 0) <= memory_gb * 1000


def test_more_than_the_share_of_a_gpu_is_told() -> None:
    """WI-36."""
    case = make_case("wilson", Resources(gpus=1, gpu="v100", cpus=40, time=HOUR))

    assert "C219" in list_codes(case)


def test_one_gpu_of_a_node_that_comes_whole_is_told() -> None:
    """JS-08."""
    assert "comes whole; you use 1" in find(make_case("jureca-dc", Resources(gpus=1, time=HOUR)), "C206").message


def test_gpus_come_by_a_feature_where_the_site_has_it_so() -> None:
    """CS-12."""
    plan = plan_for(Resources(gpus=2, time=HOUR), site=load("daint"), spec=SPEC)
    script = make_script(plan)

    assert "#SBATCH --constraint=gpu\n" in script
    assert "--gres" not in script
    assert (plan.nodes, plan.tasks_per_node, plan.cpus_per_task) == (2, 1, 12)
    assert "export NCCL_IB_HCA=ipogif0\n" in script
