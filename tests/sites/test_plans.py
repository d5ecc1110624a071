"""Each shipped site can be planned for and rendered, with nothing seen of it but its file.

The scripts are golden files, and their diff is the review: WINDLASS_GOLDEN=write writes them anew.
"""

import re
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import HOUR, SPEC, plan_for
from tests.goldens import check_golden
from tests.sites.shipped import CENTRES, load
from windlass.core.facts import Association, Facts
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.run import Checkpoint, Resources
from windlass.core.site import GpuDialect, Site

GOLDEN = Path(__file__).parent / "golden"
ACCOUNTS = Facts(associations=(Association(account="prof", is_default=True),))
DAY = 24 * HOUR
SHAPES = {
    "one-gpu": Resources(gpus=1, time=2 * HOUR),
    "whole-node": Resources(time=2 * HOUR),  # filled in by the site
    "several-nodes": Resources(time=2 * HOUR),
    "cpu": Resources(cpus=4, time=2 * HOUR),
    "chain": Resources(gpus=1, time=40 * DAY),
}


def find_most_gpus(site: Site) -> int:
    """Of one node that has siblings, so that several can be asked for."""
    return max(one.gpus for one in site.node_types if (one.count or 2) > 1)


def make(name: str, shape: str) -> Plan:
    site = load(name)
    asked = SHAPES[shape]
    if shape in ("whole-node", "several-nodes"):
        nodes = 1 if shape == "whole-node" else 2
        asked = replace(asked, nodes=nodes, gpus_per_node=find_most_gpus(site))
    facts = replace(ACCOUNTS, root=f"/scratch/alice/{name}")
    return plan_for(site=site, facts=facts, spec=replace(SPEC, resources=asked, checkpoint=Checkpoint(folder="ckpt")))


def read_directives(script: str) -> dict[str, str]:
    return dict(re.findall(r"^#SBATCH --([\w-]+)=?(.*)$", script, re.MULTILINE))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CENTRES)
def test_the_script_is_as_it_was(name: str, shape: str) -> None:
    check_golden(GOLDEN / f"{name}.{shape}.sh", make_script(make(name, shape)))


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {f"{name}.{shape}.sh" for name in CENTRES for shape in SHAPES}


@pytest.mark.parametrize("name", CENTRES)
def test_bash_can_read_it(name: str) -> None:
    for shape in SHAPES:
        checked = subprocess.run(["bash", "-n"], input=make_script(make(name, shape)).encode(), capture_output=True)
        assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CENTRES)
def test_no_plan_goes_beyond_what_the_file_says(name: str, shape: str) -> None:
    site, plan = load(name), make(name, shape)
    queue = site.partition(plan.partition) if plan.partition else site.partitions[0]

    assert queue is not None
    assert site.find_closed(queue) is None
    assert plan.link_time <= min(limit for limit in (queue.max_time, site.rules.max_time) if limit is not None)
    assert plan.nodes <= (queue.max_nodes or plan.nodes)
    assert plan.gpus_per_node <= max(one.gpus for one in site.node_types if one.name in queue.nodes)
    assert (plan.partition is not None) is site.rules.names_partition
    assert plan.account == "prof"


@pytest.mark.parametrize("name", CENTRES)
def test_long_trainings_become_chains_that_hold_them(name: str) -> None:
    plan = make(name, "chain")

    assert plan.links > 1
    assert plan.links * (plan.link_time - plan.notice) >= 40 * DAY
    assert f"--array=1-{plan.links}%1" in make_script(plan)


@pytest.mark.parametrize("name", CENTRES)
def test_a_long_training_in_short_links_follows_the_advice(name: str) -> None:
    advised = load(name).rules.advised_link_time

    assert advised is None or make(name, "chain").link_time <= advised


@pytest.mark.parametrize("name", CENTRES)
def test_gpus_are_asked_for_in_the_words_of_the_site(name: str) -> None:
    dialect = load(name).rules.gpu_dialect
    options = read_directives(make_script(make(name, "several-nodes")))

    asked = {one for one in ("gres", "gpus-per-node", "constraint") if one in options}
    assert asked == {str(dialect)}
    if dialect is GpuDialect.CONSTRAINT:
        assert options["constraint"] == "gpu"


@pytest.mark.parametrize("name", CENTRES)
def test_modules_and_variables_of_the_network_are_there(name: str) -> None:
    site, script = load(name), make_script(make(name, "several-nodes"))

    assert all(f"module load {module}\n" in script for module in site.software.always_load)
    assert all(f"export {key}={value}\n" in script for key, value in site.network.env.items())
    assert (f"WINDLASS_HOST_SUFFIX={site.network.host_suffix}\n" in script) is bool(site.network.host_suffix)
    assert "--no-requeue" in script


def test_whole_nodes_cost_whole_nodes() -> None:
    """JS-08, JS-11: one GPU for 2 h at JURECA-DC is one node: 256 core-hours."""
    plan = make("jureca-dc", "one-gpu")

    assert (plan.nodes, plan.cpus_per_task, plan.cost.whole) == (1, 128, 256)


def test_eight_hours_on_64_nodes_cost_65536_core_hours() -> None:
    """JS-11."""
    plan = plan_for(Resources(nodes=64, gpus_per_node=4, time=8 * HOUR), site=load("jureca-dc"))

    assert (plan.cost.whole, str(plan.cost.unit)) == (65_536, "core-hours")


def test_a_node_hour_is_one_node_for_an_hour() -> None:
    """CS-04: ImageNet in 90 epochs was 200 to 300; 16 nodes for 16 hours are 256."""
    plan = plan_for(Resources(gpus=16, time=16 * HOUR), site=load("daint"))

    assert (plan.nodes, plan.cost.whole, str(plan.cost.unit)) == (16, 256, "node-hours")


@pytest.mark.parametrize(("gpus", "nodes"), [(1, 1), (2, 1), (4, 2), (8, 4)])
def test_gres_counts_for_each_node(gpus: int, nodes: int) -> None:
    """WI-22, SD-34: GPUs of the whole run, on as few nodes as hold them."""
    plan = plan_for(Resources(gpus=gpus, gpu="v100", time=HOUR), site=load("wilson"))

    assert (plan.nodes, plan.nodes * plan.gpus_per_node) == (nodes, gpus)
    assert f"#SBATCH --gres=gpu:v100:{min(gpus, 2)}\n" in make_script(plan)


@pytest.mark.parametrize("kind", ["a100", "v100", "p100", "p100nvlink", "v100nvlinkppc64"])
def test_each_kind_of_gpu_is_spelled_as_its_centre_does(kind: str) -> None:
    """WI-14 to WI-18: the whole node of each kind."""
    site = load("wilson")
    node = next(one for one in site.node_types if one.gpu == kind)

    plan = plan_for(Resources(gpus=node.gpus, gpu=kind, time=HOUR), site=site)

    assert f"#SBATCH --gres=gpu:{kind}:{node.gpus}\n" in make_script(plan)
    assert plan.partition == ("gpu_gce_ppc" if node.architecture == "ppc64le" else "gpu_gce")


def test_a_standard_project_is_not_sent_to_a_premium_queue() -> None:
    """SD-01."""
    plan = plan_for(Resources(gpus=4, gpu="v100", time=20 * HOUR), site=load("sdumont"))

    assert plan.partition == "sequana_gpu_shared"


@pytest.mark.parametrize("days", [1, 7, 28])
def test_28_days_are_one_job_only_at_cedar(days: int) -> None:
    """CA-58."""
    links = {
        name: plan_for(Resources(gpus=1, time=timedelta(days=days)), site=load(name)).links
        for name in ("beluga", "graham", "narval", "cedar")
    }

    assert (links["cedar"] == 1) is True
    assert {links[name] > 1 for name in ("beluga", "graham", "narval")} == {days > 7}
