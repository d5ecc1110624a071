"""Every gap of a run file is filled, and each choice has its reason."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import ATTEMPT, BARE_SITE, CPU, GPU, HOUR, MINUTE, SITE, SPEC, plan_for
from windlass.core.codec import to_json
from windlass.core.facts import Association, Facts, SeenPartition, SeenQos
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.planning import Attempt, make_plan
from windlass.core.run import Checkpoint, Environment, Resources
from windlass.core.site import GpuDialect, GpuKind, ModuleSystem, Network, Partition, Qos, Rules, Site, Software
from windlass.errors import PlanError
from windlass.launchers import LAUNCHERS

LONG = Resources(gpus=1, time=60 * HOUR)


def with_rules(**rules: bool | timedelta | GpuDialect) -> Site:
    return replace(SITE, rules=replace(Rules(), **rules))  # type: ignore[arg-type]  # each test names its own


def why(plan: Plan, field: str) -> str:
    (reason,) = [one for one in plan.reasons if one.field == field]
    return reason.why


# ---- time and links ---------------------------------------------------------------------------------


def test_the_limit_of_the_partition_cuts_the_run_into_links() -> None:
    plan = plan_for(LONG)

    assert (plan.links, plan.link_time) == (3, 20 * HOUR + 2 * MINUTE)
    assert plan.total_time == 60 * HOUR
    assert why(plan, "links") == "1 d is the limit of partition gpu; each link keeps 2 min at its end for saving"


def test_the_limit_of_the_site_holds_for_every_partition() -> None:
    assert plan_for(LONG, site=with_rules(max_time=6 * HOUR)).link_time <= 6 * HOUR
    assert plan_for(LONG, site=with_rules(max_time=100 * HOUR)).links == 3


@pytest.mark.parametrize(
    ("facts", "whose"),
    [
        (Facts(associations=(Association(account="prof", max_time=5 * HOUR),)), "the limit of account prof"),
        (Facts(qos=(SeenQos(name="short", max_time=5 * HOUR),)), "the limit of QOS short"),
        (Facts(partitions=(SeenPartition(name="gpu", max_time=5 * HOUR),)), "the limit of partition gpu"),
    ],
)
def test_the_shortest_limit_decides(facts: Facts, whose: str) -> None:
    plan = plan_for(replace(LONG, qos="short"), facts=facts)

    assert plan.link_time <= 5 * HOUR
    assert f"5 h is {whose};" in why(plan, "links")


def test_the_default_qos_of_the_site_file_counts_where_none_was_asked_for() -> None:
    site = replace(SITE, qos=(Qos(name="normal", max_time=3 * HOUR, is_default=True), Qos(name="long", hidden=True)))

    assert plan_for(LONG, site=site).link_time <= 3 * HOUR
    assert plan_for(LONG, site=site).qos is None
    assert plan_for(replace(LONG, qos="long"), site=site).links == 3


def test_what_the_user_says_of_a_link_is_a_limit_too() -> None:
    assert plan_for(replace(LONG, link_time=4 * HOUR)).link_time <= 4 * HOUR


def test_a_chain_has_links_as_short_as_the_site_advises() -> None:
    plan = plan_for(LONG, site=with_rules(advised_link_time=3 * HOUR))

    assert plan.link_time <= 3 * HOUR
    assert "3 h is what the site advises for a chain;" in why(plan, "links")


def test_advice_makes_no_chain_of_what_fits_into_one_job() -> None:
    assert plan_for(Resources(gpus=1, time=20 * HOUR), site=with_rules(advised_link_time=3 * HOUR)).links == 1


def test_advice_gives_way_to_the_user() -> None:
    site = with_rules(advised_link_time=3 * HOUR)
    few = replace(SPEC, checkpoint=Checkpoint(max_links=4), resources=LONG)

    assert plan_for(replace(LONG, link_time=10 * HOUR), site=site).link_time > 3 * HOUR
    assert plan_for(LONG, spec=few, site=site).links == 3


def test_advice_that_is_longer_than_the_limit_changes_nothing() -> None:
    assert plan_for(LONG, site=with_rules(advised_link_time=48 * HOUR)).links == 3


def test_more_links_than_wanted_are_refused_with_both_numbers() -> None:
    spec = replace(SPEC, checkpoint=Checkpoint(max_links=2), resources=LONG)

    with pytest.raises(PlanError, match="needs 3 links of at most 1 d, and max_links is 2"):
        plan_for(LONG, spec=spec)


@given(st.integers(1, 400), st.integers(1, 100), st.integers(0, 18 * 60))
def test_the_links_leave_enough_time_to_train_beside_the_notice(hours: int, limit: int, notice: int) -> None:
    spec = replace(SPEC, checkpoint=Checkpoint(notice=notice * MINUTE))
    site = replace(SITE, partitions=(replace(CPU, max_time=limit * HOUR),))

    plan = plan_for(Resources(time=hours * HOUR), spec=spec, site=site)

    useful = plan.link_time - (plan.notice if plan.links > 1 else timedelta(0))
    assert plan.link_time <= limit * HOUR
    assert plan.links * useful >= hours * HOUR


def test_a_notice_longer_than_half_of_the_link_is_shortened() -> None:
    spec = replace(SPEC, checkpoint=Checkpoint(notice=HOUR))

    assert plan_for(Resources(time=10 * MINUTE), spec=spec).notice == 5 * MINUTE
    assert plan_for(Resources(time=10 * HOUR), spec=spec).notice == HOUR


@pytest.mark.parametrize(
    ("checkpoint", "minutes", "expected_s"),
    [
        pytest.param(Checkpoint(), 3, 9, id="nothing-is-saved"),
        pytest.param(Checkpoint(), 60, 10, id="nothing-is-saved-in-an-hour"),
        pytest.param(Checkpoint(folder="c"), 60, 120, id="time-to-save"),
        pytest.param(Checkpoint(folder="c"), 1, 15, id="time-to-save-in-a-short-job"),
        pytest.param(Checkpoint(notice=MINUTE), 3, 60, id="the-users-own"),
        pytest.param(Checkpoint(), 72 * 60, 120, id="a-chain-saves-somewhere"),
    ],
)
def test_the_notice_costs_no_time_where_nothing_is_saved(checkpoint: Checkpoint, minutes: int, expected_s: int) -> None:
    plan = plan_for(Resources(gpus=1, time=minutes * MINUTE), spec=replace(SPEC, checkpoint=checkpoint))

    assert plan.notice == timedelta(seconds=expected_s)


def test_without_a_time_the_partition_decides_and_says_so() -> None:
    site = replace(SITE, partitions=(replace(CPU, default_time=4 * HOUR),))

    assert plan_for(Resources(), site=site).total_time == 4 * HOUR
    assert why(plan_for(Resources(), site=site), "time") == "the default of cpu; set resources.time"
    assert plan_for(Resources()).total_time == HOUR


# ---- place ----------------------------------------------------------------------------------------


def test_a_site_that_chooses_the_partition_itself_is_told_none() -> None:
    plan = plan_for(LONG, site=with_rules(names_partition=False))

    assert plan.partition is None
    assert "--partition" not in make_script(plan)
    assert plan.links == 3, "its limits count all the same"
    assert why(plan, "partition") == "alpha chooses it by time and size"


def test_a_partition_the_user_insists_on_is_named_everywhere() -> None:
    assert plan_for(replace(LONG, partition="gpu"), site=with_rules(names_partition=False)).partition == "gpu"


def test_gpus_where_there_are_none_are_refused_with_a_reason_for_each_partition() -> None:
    with pytest.raises(PlanError) as told:
        plan_for(Resources(gpus=1), site=replace(SITE, partitions=(CPU, replace(CPU, name="long"))))

    assert told.value.details == ("cpu: its nodes have no GPUs", "long: its nodes have no GPUs")


@pytest.mark.parametrize(("gpus", "shape"), [(1, (1, 1)), (4, (1, 4)), (6, (2, 3)), (8, (2, 4))])
def test_gpus_are_spread_over_nodes(gpus: int, shape: tuple[int, int]) -> None:
    plan = plan_for(Resources(gpus=gpus))

    assert (plan.nodes, plan.gpus_per_node) == shape
    assert plan.gpus == gpus


def test_the_run_folder_lies_under_the_root_that_was_seen() -> None:
    site = replace(SITE, root="$SCRATCH/windlass")

    assert plan_for(site=site, facts=Facts(root="/lustre/alice/w")).folder == "/lustre/alice/w/runs/digits-k3f9w"


def test_a_site_that_was_not_asked_is_planned_all_the_same() -> None:
    plan = plan_for(site=replace(SITE, root="$SCRATCH/windlass"))

    assert '--chdir="$SCRATCH/windlass/runs/digits-k3f9w/code"' in make_script(plan)


# ---- size ------------------------------------------------------------------------------------------


def test_this_machine_is_planned_without_knowing_its_cores() -> None:
    here = replace(BARE_SITE, partitions=(Partition(name="pocket", is_default=True),))

    plan = plan_for(Resources(), site=here)

    assert (plan.partition, plan.cpus_per_task, plan.memory_mb) == ("pocket", 1, None)
    assert make_script(plan)


def test_a_gpu_comes_with_its_share_of_cores_and_memory() -> None:
    plan = plan_for(Resources(gpus=2))

    assert (plan.launcher, plan.tasks_per_node, plan.cpus_per_task) == ("srun", 2, 16)
    assert plan.memory_mb == 512_000 * 2 // 4 * 9 // 10


def test_the_share_that_a_site_advises_is_taken() -> None:
    (cpu, gpu) = SITE.node_types
    advised = replace(gpu, cpus_per_gpu=6, memory_per_gpu_gb=100)

    plan = plan_for(Resources(gpus=1), site=replace(SITE, node_types=(cpu, advised)))

    assert (plan.cpus_per_task, plan.memory_mb) == (6, 90_000)


def test_a_run_without_gpus_is_modest() -> None:
    plan = plan_for(Resources())

    assert (plan.cpus_per_task, plan.memory_mb) == (4, 256_000 * 4 // 128 * 9 // 10)


def test_what_was_asked_for_is_not_touched() -> None:
    plan = plan_for(Resources(cpus=7, memory_mb=1234, nodes=2))

    assert (plan.cpus_per_task, plan.memory_mb, plan.nodes) == (7, 1234, 2)


def test_a_whole_node_is_used_whole() -> None:
    plan = plan_for(Resources(gpus=1), site=with_rules(whole_nodes=True))

    assert (plan.cpus_per_task, plan.memory_mb, plan.exclusive) == (64, 0, False)
    assert plan_for(Resources(exclusive=True)).exclusive


def test_memory_is_not_asked_where_it_cannot_be() -> None:
    assert plan_for(Resources(memory_mb=1000), site=with_rules(memory_can_be_asked=False)).memory_mb is None


@pytest.mark.parametrize(
    ("resources", "launcher"),
    [(Resources(), "single"), (Resources(gpus=1), "single"), (Resources(gpus=2), "srun"), (Resources(nodes=2), "srun")],
)
def test_one_process_needs_no_launcher(resources: Resources, launcher: str) -> None:
    assert plan_for(resources).launcher == launcher


def test_an_unknown_launcher_is_refused_with_those_there_are() -> None:
    with pytest.raises(PlanError, match=r"there is no launcher 'mpirun'; there are single, .*torchrun"):
        plan_for(spec=replace(SPEC, launcher="mpirun"))


# ---- dialects --------------------------------------------------------------------------------------


def test_a_gpu_is_named_as_the_site_spells_it_where_one_was_asked_for() -> None:
    site = replace(SITE, gpus=(GpuKind(name="a100", spelled="nvidia_a100"),))

    assert plan_for(Resources(gpu="a100"), site=site).gpu_spelled == "nvidia_a100"
    assert plan_for(Resources(gpus=1), site=site).gpu_spelled is None


def test_a_site_may_insist_on_the_kind_or_not_know_kinds() -> None:
    assert plan_for(Resources(gpus=1), site=with_rules(needs_gpu_type=True)).gpu_spelled == "a100"
    assert plan_for(Resources(gpu="a100"), site=with_rules(typed_gpus=False)).gpu_spelled is None


@pytest.mark.parametrize(
    ("asked", "constraint"),
    [(None, "gpu"), ("hbm80g", "gpu&hbm80g"), ("a|b", "gpu&(a|b)"), ("(a|b)&c", "gpu&(a|b)&c"), ("[x|y]", "gpu&[x|y]")],
)
def test_a_site_where_gpus_are_a_feature(asked: str | None, constraint: str) -> None:
    site = with_rules(gpu_dialect=GpuDialect.CONSTRAINT)

    assert plan_for(Resources(gpus=4, constraint=asked), site=site).constraint == constraint
    assert plan_for(Resources(constraint=asked), site=site).constraint == asked


# ---- software --------------------------------------------------------------------------------------


def test_modules_everything_needs_come_first_and_once() -> None:
    software = Software(modules=ModuleSystem.LMOD, always_load=("Stages/2024", "gcc"))
    spec = replace(SPEC, environment=Environment(modules=("cuda", "gcc", "pytorch")))

    plan = plan_for(spec=spec, site=replace(SITE, software=software))

    assert plan.modules == ("Stages/2024", "gcc", "cuda", "pytorch")


@pytest.mark.parametrize(("asked", "site", "purged"), [(None, True, True), (None, False, False), (False, True, False)])
def test_modules_are_purged_as_the_site_advises_unless_the_user_knows_better(
    asked: bool | None, site: bool, purged: bool
) -> None:
    spec = replace(SPEC, environment=Environment(purge_modules=asked))

    assert plan_for(spec=spec, site=replace(SITE, software=Software(purge_modules=site))).purge_modules == purged


def test_variables_for_the_network_are_set_where_there_is_one() -> None:
    site = replace(SITE, network=Network(env={"NCCL_SOCKET_IFNAME": "ib0"}))

    assert plan_for(Resources(gpus=8), site=site).network_env == {"NCCL_SOCKET_IFNAME": "ib0"}
    assert plan_for(Resources(gpus=4), site=site).network_env == {}


def test_secrets_are_in_neither_plan_nor_script() -> None:
    plan = plan_for(spec=replace(SPEC, secrets={"WANDB_API_KEY": "env:MY_KEY"}))

    assert b"WANDB" not in to_json(plan) + make_script(plan).encode()


# ---- all of it -------------------------------------------------------------------------------------


def test_the_same_wish_gives_the_same_bytes_in_whatever_order_it_was_written() -> None:
    def plan(env: dict[str, str]) -> Plan:
        spec = replace(SPEC, env=env, resources=Resources(gpus=8, time=60 * HOUR))
        return make_plan(spec, SITE, Facts(), ATTEMPT, launchers=LAUNCHERS)

    first, second = plan({"A": "1", "B": "2"}), plan({"B": "2", "A": "1"})

    assert to_json(first) == to_json(second)
    assert make_script(first) == make_script(second)


def test_a_resumed_run_goes_on_counting() -> None:
    attempt = Attempt(run_id="digits-k3f9w", number=2, first_link=3)

    plan = make_plan(replace(SPEC, resources=LONG), SITE, Facts(), attempt, launchers=LAUNCHERS)

    assert (plan.number, plan.first_link, plan.links) == (2, 3, 3)


def test_every_choice_has_its_reason() -> None:
    facts = Facts(associations=(Association(account="prof"),))

    plan = plan_for(Resources(gpus=8, time=60 * HOUR), facts=facts, site=replace(SITE, partitions=(GPU,)))

    assert {one.field for one in plan.reasons} == {"partition", "account", "links", "launcher", "cpus", "memory"}
