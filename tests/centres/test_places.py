"""What a job gets at a centre, and what the survey sees of it."""

import pytest

from tests.centres.judging import Court, list_errors
from tests.centres.wishes import HOUR
from tests.cluster.centre import list_partitions
from windlass.core.job import make_script
from windlass.core.run import Resources
from windlass.errors import PlanError

pytestmark = [pytest.mark.slurm, pytest.mark.xdist_group("centres")]
_SCRIPT = "#!/bin/bash\n"


@pytest.mark.parametrize(
    ("name", "cores", "gpus", "cost"),
    [
        pytest.param("jureca-dc", 128, 4, 128, id="JS-08-JS-11-jureca-dc"),
        pytest.param("juwels-booster", 96, 4, 48, id="JS-08-juwels-booster"),
        pytest.param("daint", 12, 1, 1, id="CS-04-daint"),
    ],
)
def test_one_gpu_gets_and_pays_the_whole_node(court: Court, name: str, cores: int, gpus: int, cost: float) -> None:
    account = court.live.centre.members[0].account
    case = court.make_case(Resources(gpus=1, time=HOUR, account=account))
    assert case.plan.cost.one_link == cost
    assert _see(court, make_script(case.plan)) == {"node": "1", "cpu": str(cores), "gres/gpu": str(gpus)}


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-10")])
@pytest.mark.parametrize(("partition", "limit"), [("cpu_gce", "08:00:00"), ("cpu_gce_test", "01:00:00")])
def test_partition_has_a_default_time(court: Court, name: str, partition: str, limit: str) -> None:
    verdict = court.live.submit(_SCRIPT, f"--partition={partition}", "--account=wc_test")
    assert verdict.job_id is not None
    shown = court.live.show(verdict.job_id)
    court.live.cancel_all()
    assert shown["TimeLimit"] == limit
    plan = court.make_case(Resources(partition=partition, account="wc_test")).plan
    assert plan.total_time.total_seconds() == 3600 * int(limit[:2])


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-36")])
def test_gpu_comes_with_cores_and_memory(court: Court, name: str) -> None:
    seen = _see(court, _SCRIPT, "--partition=gpu_gce", "--gres=gpu:v100:1", "--account=wc_test")
    assert seen == {"node": "1", "cpu": "2", "gres/gpu": "1"}


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-20")])
def test_one_job_cannot_mix_kinds_of_gpu(court: Court, name: str) -> None:
    both = court.live.submit(_SCRIPT, "--partition=gpu_gce", "--gres=gpu:v100:1,gpu:p100:1", "--account=wc_test")
    court.live.cancel_all()
    assert both.job_id is None
    assert "Requested node configuration is not available" in both.said
    with pytest.raises(PlanError):
        make_script(court.make_case(Resources(gpu="v100:1,gpu:p100", gpus=1, time=HOUR, account="wc_test")).plan)


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-22")])
def test_gres_counts_for_each_node(court: Court, name: str) -> None:
    case = court.make_case(Resources(gpu="v100", gpus=4, time=HOUR, account="wc_test"))
    assert (case.plan.nodes, case.plan.gpus_per_node) == (2, 2)
    assert _see(court, make_script(case.plan))["gres/gpu"] == "4"


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-23"), pytest.param("sdumont", id="SD-20")])
def test_run_folder_under_home_is_refused_before(court: Court, name: str) -> None:
    """Slurm takes such a job, which then ends without a word."""
    account = court.live.centre.members[0].account
    folder = f"{court.live.home}/windlass/runs/digits-k3f9w"
    wanted = Resources(gpus=1, time=HOUR, account=account)
    assert "C401" in {one.code for one in list_errors(court.make_case(wanted, folder=folder))}
    assert list_errors(court.make_case(wanted)) == []


@pytest.mark.parametrize("name", [pytest.param("sdumont", id="SD-12")])
def test_heterogeneous_job_is_taken(court: Court, name: str) -> None:
    first = ("--partition=het_scal", "--gres=gpu:2", "--nodes=1", "--time=60")
    verdict = court.live.submit(_SCRIPT, *first, ":", "--partition=het_scal", "--nodes=1")
    looks = court.live.look()
    court.live.cancel_all()
    assert verdict.job_id is not None, verdict
    assert looks


@pytest.mark.parametrize("name", [pytest.param("wilson", id="WI-05")])
def test_survey_sees_accounts_and_qos(court: Court, name: str) -> None:
    mine = court.facts.associations
    assert mine is not None
    assert len(mine) == 6
    assert {one.qos for one in mine} == {("opp", "regular", "test")}
    assert {one.default_qos for one in mine} == {"opp"}


@pytest.mark.parametrize("name", ["beluga", "cedar", "daint", "graham", "juwels-booster", "jureca-dc", "narval"])
def test_survey_sees_every_partition_with_its_nodes(court: Court, name: str) -> None:
    site = court.live.site
    for partition in list_partitions(site):
        seen = court.facts.partition(partition.name)
        assert seen is not None
        assert seen.nodes == sum(node.count or 1 for node in site.node_types if node.name in partition.nodes)
        assert seen.whole_nodes is site.rules.whole_nodes


def _see(court: Court, script: str, *options: str) -> dict[str, str]:
    """How many nodes, CPUs and GPUs Slurm gave it."""
    verdict = court.live.submit(script, *options)
    assert verdict.job_id is not None, verdict
    look = court.see_fates([verdict.job_id], timeout_s=10)[verdict.job_id]
    shown = court.live.show(verdict.job_id)
    court.live.cancel_all()
    assert look.state == "CONFIGURING", look
    # Newer Slurm tells what was asked for and what was given apart.
    given = dict(word.split("=") for word in shown.get("AllocTRES", shown.get("TRES", "")).split(","))
    return {name: given[name] for name in ("node", "cpu", "gres/gpu")}
