"""What a plan chooses among partitions, QOS and kinds of node, what came second, and why."""

from dataclasses import replace

import pytest

from tests.builders import BARE_SITE, CPU, GPU, GPU_NODE, HOUR, MINUTE, SITE, plan_for
from windlass.core.facts import Association, Facts, NodeShape, SeenPartition, SeenQos
from windlass.core.plan import Plan, RunnerUp
from windlass.core.run import Resources
from windlass.core.site import Accounting, CostUnit, GpuKind, NodeType, Partition, Qos, Rules
from windlass.errors import PlanError

OPP = Qos(name="opp", max_time=8 * HOUR, is_default=True, max_submitted=50)
REGULAR = Qos(name="regular", max_time=24 * HOUR, priority=25)
TEST = Qos(name="test", max_time=4 * HOUR, priority=75, for_tests=True)
ADMIN = Qos(name="admin", priority=100, hidden=True)
LEVELS = replace(SITE, partitions=(GPU,), qos=(OPP, REGULAR, TEST, ADMIN))

A100 = NodeShape(nodes=2, cpus=64, cores=64, memory_mb=500_000, gpus=(("a100", 4),), features=("a100", "big"))
V100 = NodeShape(nodes=4, cpus=40, cores=40, memory_mb=180_000, gpus=(("v100", 2),), features=("v100",))
THIN = NodeShape(nodes=10, cpus=32, cores=32, memory_mb=128_000)
MIXED = SeenPartition(name="mixed", nodes=16, shapes=(A100, V100, THIN))


def seen(*partitions: SeenPartition, **facts: object) -> Facts:
    return replace(Facts(partitions=partitions or None), **facts)  # type: ignore[arg-type]  # each test names its own


def make_qos(name: str) -> SeenQos:
    return SeenQos(name=name)


def why(plan: Plan, field: str) -> str:
    return "; ".join(one.why for one in plan.reasons if one.field == field)


# ---- QOS -------------------------------------------------------------------------------------------


def test_a_run_that_does_not_fit_the_default_qos_gets_one_that_holds_it() -> None:
    plan = plan_for(Resources(gpus=1, time=12 * HOUR), site=LEVELS)

    assert (plan.qos, plan.links) == ("regular", 1)
    assert why(plan, "qos") == (
        "the run fits in one job: regular gives 1 d; the default opp gives 8 h and would need 2 links"
    )
    assert plan.runner_up == RunnerUp(partition="gpu", qos=None, why_not="2 links instead of 1")


def test_the_default_qos_is_not_named_and_a_test_qos_only_offered() -> None:
    plan = plan_for(Resources(gpus=1, time=30 * MINUTE), site=LEVELS)

    assert plan.qos is None
    assert plan.runner_up is not None
    assert (plan.runner_up.partition, plan.runner_up.qos) == ("gpu", "test")
    assert plan.runner_up.why_not == "it is for short tests; name it for one (its priority is 75, that of opp 0)"


def test_a_hidden_qos_is_never_chosen() -> None:
    site = replace(LEVELS, qos=(OPP, ADMIN))

    plan = plan_for(Resources(gpus=1, time=12 * HOUR), site=site)

    assert (plan.qos, plan.links) == (None, 2)
    assert plan_for(Resources(gpus=1, qos="admin"), site=site).qos == "admin"


def test_more_links_than_a_qos_takes_jobs_count_against_it() -> None:
    site = replace(LEVELS, qos=(replace(OPP, max_submitted=1), replace(REGULAR, max_time=8 * HOUR)))

    plan = plan_for(Resources(gpus=1, time=12 * HOUR), site=site)

    assert plan.qos == "regular"
    assert why(plan, "qos") == "not the default opp: QOS opp takes 1 jobs of yours at once, and this is 2 links"


def test_only_qos_of_the_account_that_the_partition_allows_are_chosen() -> None:
    mine = Association(account="prof", qos=("normal", "long", "longer"), default_qos="normal")
    qos = (
        SeenQos(name="normal", max_time=HOUR),
        SeenQos(name="long"),
        SeenQos(name="longer"),
        SeenQos(name="not-mine"),
    )
    gpu = SeenPartition(name="gpu", allow_qos=("normal", "longer", "not-mine"))

    facts = seen(gpu, associations=(mine,), qos=qos)

    assert plan_for(Resources(gpus=1, time=5 * HOUR), site=LEVELS, facts=facts).qos == "longer"
    assert plan_for(Resources(gpus=1, time=30 * MINUTE), site=LEVELS, facts=facts).qos is None


def test_where_the_default_qos_is_not_let_in_another_is_named() -> None:
    mine = Association(account="prof", qos=("normal", "gpu"), default_qos="normal")
    facts = seen(SeenPartition(name="gpu", deny_qos=("normal",)), associations=(mine,))

    plan = plan_for(Resources(gpus=1), site=LEVELS, facts=facts)

    assert plan.qos == "gpu"
    assert why(plan, "qos") == "the default may not be used in gpu"


def test_of_an_account_that_is_not_ones_own_no_qos_is_guessed() -> None:
    mine = Association(account="prof", qos=("normal", "high"))
    site = replace(SITE, qos=(Qos(name="normal"), Qos(name="high", priority=9)))

    plan = plan_for(Resources(account="nope"), site=site, facts=Facts(associations=(mine,)))

    assert (plan.account, plan.qos, why(plan, "qos")) == ("nope", None, "")


def test_normal_is_what_slurm_takes_where_no_default_is_set() -> None:
    mine = Association(account="prof", qos=("high", "normal"))
    facts = seen(associations=(mine,), qos=(SeenQos(name="high", priority=1000), SeenQos(name="normal")))

    assert plan_for(Resources(gpus=1), site=SITE, facts=facts).qos is None


def test_a_limit_on_gpus_moves_the_run_to_another_qos() -> None:
    mine = Association(account="prof", qos=("few", "many"), default_qos="few")
    facts = seen(associations=(mine,), qos=(SeenQos(name="few", max_per_user={"gres/gpu": 4}), SeenQos(name="many")))

    plan = plan_for(Resources(gpus=8), facts=facts)

    assert plan.qos == "many"
    assert why(plan, "qos") == "not the default few: QOS few gives at most 4 GPUs, you ask for 8"
    assert plan_for(Resources(gpus=8), facts=replace(facts, enforces_limits=False)).qos is None


def test_a_qos_whose_jobs_are_pushed_out_is_left_for_another() -> None:
    mine = Association(account="prof", qos=("scavenger", "normal"), default_qos="scavenger")
    facts = seen(
        associations=(mine,), qos=(SeenQos(name="scavenger", preempted_by=("normal",)), SeenQos(name="normal"))
    )

    assert plan_for(Resources(gpus=1), facts=facts).qos == "normal"
    assert plan_for(Resources(gpus=1, qos="scavenger"), facts=facts).qos == "scavenger"


def test_the_limits_of_the_partitions_own_qos_hold_too() -> None:
    facts = seen(SeenPartition(name="gpu", qos="part"), qos=(SeenQos(name="part", max_time=2 * HOUR),))

    plan = plan_for(Resources(gpus=1, time=6 * HOUR), facts=facts)

    assert plan.link_time <= 2 * HOUR
    assert "the limit of QOS part;" in why(plan, "links")


# ---- partitions ------------------------------------------------------------------------------------


def test_a_partition_whose_jobs_are_pushed_out_is_not_chosen_silently() -> None:
    cheap = SeenPartition(name="cheap", preempts=True, is_default=True, shapes=(A100,))
    firm = SeenPartition(name="firm", preempts=False, shapes=(A100,))

    plan = plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(cheap, firm))
    alone = plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(cheap))

    assert plan.partition == "firm"
    assert plan.runner_up == RunnerUp(partition="cheap", why_not="jobs there may be pushed out by others")
    assert "careful: jobs there may be pushed out by others" in why(alone, "partition")


def test_a_partition_for_other_accounts_is_not_chosen() -> None:
    mine = Association(account="prof", is_default=True)
    closed = SeenPartition(name="closed", is_default=True, shapes=(A100,), allow_accounts=("other",))
    denied = SeenPartition(name="denied", shapes=(A100,), deny_accounts=("prof",))
    mixed = replace(MIXED, name="open")

    plan = plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(closed, denied, mixed, associations=(mine,)))

    assert plan.partition == "open"
    assert plan.runner_up is not None
    assert plan.runner_up.why_not == "it takes only accounts other, and yours is prof"


@pytest.mark.parametrize(
    ("partition", "reason"),
    [
        (replace(MIXED, only_root=True), "only root may use it"),
        (replace(MIXED, allow_groups=("staff",)), "it is for the Unix groups staff only"),
        (replace(MIXED, needs_reservation=True), "it takes only jobs with a reservation"),
        (replace(MIXED, min_nodes=2), "it gives at least 2 nodes, you ask for 1"),
    ],
)
def test_a_partition_that_takes_no_such_job_says_why(partition: SeenPartition, reason: str) -> None:
    with pytest.raises(PlanError) as told:
        plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(partition, user="alice", groups=("users",)))

    assert f"mixed: {reason}" in told.value.details


def test_a_partition_for_another_category_of_project_is_closed() -> None:
    premium = replace(GPU, name="premium", category="premium", is_default=True)
    site = replace(SITE, partitions=(premium, GPU), category="standard")

    assert plan_for(Resources(gpus=1), site=site).partition == "gpu"
    assert plan_for(Resources(gpus=1), site=replace(site, category="premium")).partition == "premium"
    named = seen(SeenPartition(name="premium", allow_accounts=("prof",)), associations=(Association(account="prof"),))
    assert plan_for(Resources(gpus=1), site=site, facts=named).partition == "premium", (
        "Slurm itself lets the account in"
    )


def test_a_partition_that_slurm_does_not_show_is_the_last_choice() -> None:
    site = replace(SITE, partitions=(replace(GPU, name="gone", is_default=True), GPU))

    assert plan_for(Resources(gpus=1), site=site, facts=seen(SeenPartition(name="gpu"))).partition == "gpu"


def test_nodes_of_another_architecture_are_the_last_choice() -> None:
    power = replace(GPU_NODE, name="power", architecture="ppc64le")
    site = replace(SITE, node_types=(power, GPU_NODE), partitions=(Partition(name="ppc", nodes=("power",)), GPU))

    plan = plan_for(Resources(gpus=4), site=site)

    assert (plan.partition, why(plan, "partition")) == ("gpu", "its nodes have the usual architecture")
    assert plan_for(Resources(gpus=4), site=site, facts=Facts(architecture="ppc64le")).partition == "ppc"


def test_gpus_that_usual_builds_no_longer_know_are_taken_only_by_name() -> None:
    old = replace(GPU_NODE, name="old", gpu="k40")
    site = replace(
        SITE,
        gpus=(GpuKind(name="a100"), GpuKind(name="k40", wheels="https://example.org")),
        node_types=(GPU_NODE, old),
        partitions=(Partition(name="long", nodes=("old",), max_time=900 * HOUR), GPU),
    )

    assert plan_for(Resources(gpus=1, time=100 * HOUR), site=site).partition == "gpu"
    assert plan_for(Resources(gpu="k40", time=100 * HOUR), site=site).partition == "long"


def test_a_gpu_is_not_taken_out_of_a_partition_for_other_work() -> None:
    cpu = SeenPartition(name="cpu", is_default=True, shapes=(V100, THIN))
    gpu = SeenPartition(name="gpu", shapes=(A100, V100))

    plan = plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(cpu, gpu))

    assert (plan.partition, why(plan, "partition")) == ("gpu", "all its nodes have GPUs; cpu would do too")
    assert plan.runner_up == RunnerUp(
        partition="cpu", why_not="some of its nodes have no GPUs, it is for other work too"
    )
    assert plan_for(Resources(), site=BARE_SITE, facts=seen(cpu, gpu)).partition == "cpu"
    assert plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(cpu)).partition == "cpu"


def test_the_default_partition_counts_only_among_equals() -> None:
    old = SeenPartition(name="old", is_default=True, shapes=(V100,))
    new = SeenPartition(name="new", shapes=(replace(A100, gpus=(("a100", 2),)),))
    same = replace(old, name="same", is_default=False)

    assert why(plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(old, new)), "partition").startswith(
        "its GPUs are the newest"
    )
    assert plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(same, old)).partition == "old"
    assert plan_for(Resources(gpus=1, gpu="v100"), site=BARE_SITE, facts=seen(old, new)).partition == "old"


def test_a_site_that_chooses_the_partition_is_not_asked_for_a_second() -> None:
    site = replace(SITE, rules=Rules(names_partition=False), partitions=(CPU, GPU))

    plan = plan_for(Resources(gpus=1), site=site, facts=seen(replace(MIXED, name="hidden_bin")))

    assert (plan.partition, plan.runner_up) == (None, None)


# ---- kinds of node ---------------------------------------------------------------------------------


def test_a_partition_with_several_kinds_of_node_is_planned_for_the_one_that_fits() -> None:
    four, thin = (plan_for(wish, site=BARE_SITE, facts=seen(MIXED)) for wish in (Resources(gpus=4), Resources()))

    assert (four.nodes, four.cpus_per_task * four.tasks_per_node, four.memory_mb) == (1, 64, 500_000)
    assert (thin.cpus_per_task, thin.memory_mb) == (4, 128_000 * 4 // 32)


def test_only_as_many_nodes_as_hold_the_run_can_be_asked_for() -> None:
    facts = seen(MIXED)

    assert plan_for(Resources(nodes=16), site=BARE_SITE, facts=facts).nodes == 16, "thin jobs run on any node"
    with pytest.raises(PlanError) as told:
        plan_for(Resources(nodes=3, gpus_per_node=4), site=BARE_SITE, facts=facts)
    assert told.value.details == ("mixed: it gives at most 2 nodes, you ask for 3",)  # the closest of three kinds


def test_without_a_kind_the_share_is_one_that_every_kind_has_and_they_are_named() -> None:
    plan = plan_for(Resources(gpus=2), site=BARE_SITE, facts=seen(MIXED))

    assert (plan.gpu_spelled, plan.cpus_per_task, plan.memory_mb) == (None, 16, 180_000)
    assert why(plan, "gpu") == "it may be a100 or v100; to choose: resources.gpu = 'a100'"
    typed = plan_for(Resources(gpus=2, gpu="v100"), site=BARE_SITE, facts=seen(MIXED))
    assert (typed.gpu_spelled, typed.cpus_per_task, why(typed, "gpu")) == ("v100", 20, "")


def test_a_site_may_want_one_kind_for_all_nodes_of_a_job() -> None:
    site = replace(BARE_SITE, rules=Rules(one_gpu_kind=True))

    assert plan_for(Resources(nodes=2, gpus_per_node=2), site=site, facts=seen(MIXED)).gpu_spelled == "a100"


def test_gpus_without_a_type_in_slurm_are_asked_for_without_one() -> None:
    shape = replace(V100, gpus=(("", 2),))
    site = replace(
        BARE_SITE,
        gpus=(GpuKind(name="k40"),),
        node_types=(NodeType(name="old", cores=40, gpu="k40", gpus=2),),
        partitions=(Partition(name="gpu", nodes=("old",)),),
    )

    plan = plan_for(Resources(gpu="k40"), site=site, facts=seen(SeenPartition(name="gpu", shapes=(shape,))))

    assert (plan.gpu_spelled, plan.gpus_per_node) == (None, 1)
    assert why(plan, "gpu") == "Slurm knows no kinds of GPU in gpu"


def test_features_that_are_asked_for_lead_to_the_nodes_that_have_them() -> None:
    facts = seen(MIXED)

    assert plan_for(Resources(gpus=1, constraint="big"), site=BARE_SITE, facts=facts).cpus_per_task == 16
    assert plan_for(Resources(gpus=1, constraint="a|b"), site=BARE_SITE, facts=facts).constraint == "a|b"
    with pytest.raises(PlanError) as told:
        plan_for(Resources(gpus=1, constraint="huge"), site=BARE_SITE, facts=facts)
    assert "mixed: its nodes have the features a100, big, you ask for huge" in told.value.details


# ---- shares ----------------------------------------------------------------------------------------


def test_what_the_file_advises_counts_for_nodes_that_were_seen() -> None:
    site = replace(
        SITE, node_types=(replace(GPU_NODE, cpus_per_gpu=6, memory_per_gpu_gb=100),), partitions=(replace(GPU),)
    )

    plan = plan_for(Resources(gpus=1), site=site, facts=seen(SeenPartition(name="gpu", shapes=(A100,))))

    assert (plan.cpus_per_task, plan.memory_mb) == (6, 100_000)
    assert why(plan, "cpus") == "the site advises 6 for each GPU"


def test_a_partition_may_give_less_than_its_nodes_have() -> None:
    tight = SeenPartition(name="gpu", shapes=(A100,), max_cpus_per_node=24, max_memory_mb_per_node=90_000)
    per_cpu = SeenPartition(name="gpu", shapes=(A100,), max_memory_mb_per_cpu=1000)

    plan = plan_for(Resources(gpus=4), site=BARE_SITE, facts=seen(tight))
    few = plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(per_cpu))

    assert (plan.cpus_per_task * plan.tasks_per_node, plan.memory_mb) == (24, 90_000)
    assert (few.cpus_per_task, few.memory_mb) == (16, 16_000)


def test_an_account_may_give_less_than_the_share() -> None:
    mine = Association(account="tiny", max_per_job={"cpu": 4, "mem": 8000})

    plan = plan_for(Resources(gpus=1), site=BARE_SITE, facts=seen(MIXED, associations=(mine,)))

    assert (plan.cpus_per_task, plan.memory_mb) == (4, 8000)
    assert why(plan, "cpus") == "account tiny gives at most 4 CPUs"


def test_hardware_threads_are_asked_for_and_computed_on_as_cores() -> None:
    smt = SeenPartition(name="gpu", shapes=(replace(A100, cpus=128),))
    site = replace(BARE_SITE, accounting=Accounting(unit=CostUnit.CORE_HOURS))

    plan = plan_for(Resources(gpus=1, time=HOUR), site=site, facts=seen(smt))

    assert (plan.cpus_per_task, plan.threads, plan.cost.whole) == (32, 16, 16)


def test_memory_is_not_asked_where_slurm_does_not_count_it() -> None:
    facts = seen(MIXED, memory_is_counted=False)

    assert plan_for(Resources(gpus=1), site=BARE_SITE, facts=facts).memory_mb is None
    assert plan_for(Resources(gpus=1, memory_mb=100), site=BARE_SITE, facts=facts).memory_mb == 100


# ---- cost ------------------------------------------------------------------------------------------


def test_billing_weights_price_a_job_where_the_file_does_not_say_how() -> None:
    weighted = SeenPartition(name="gpu", shapes=(A100,), billing_weights={"cpu": 1.0, "mem": 0.25, "gres/gpu": 10.0})
    one = Resources(gpus=1, cpus=4, memory_mb=8192, time=2 * HOUR)

    added = plan_for(one, site=BARE_SITE, facts=seen(weighted)).cost
    largest = plan_for(one, site=BARE_SITE, facts=seen(weighted, bills_the_largest=True)).cost

    assert (added.unit, added.whole) == (CostUnit.BILLING, 2 * (4 + 2 + 10))
    assert largest.whole == 2 * 10
    assert plan_for(one, site=BARE_SITE, facts=seen(MIXED)).cost.unit is CostUnit.UNKNOWN


def test_a_tenth_of_the_memory_stays_free_where_it_is_not_the_jobs_alone() -> None:
    own = replace(BARE_SITE, rules=Rules(cuts_to_fit=True))
    facts = seen(SeenPartition(name="pocket", shapes=(NodeShape(nodes=1, cpus=4, cores=4, memory_mb=10_000),)))

    memory = [plan_for(Resources(), site=site, facts=facts).memory_mb for site in (BARE_SITE, own)]

    assert memory == [10_000, 9_000]
