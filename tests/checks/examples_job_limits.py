"""C104, C110 to C115: how many jobs, and how much for one job."""

from dataclasses import replace

from tests.builders import PLAN
from tests.checks.cases import ALICE, CHAIN, MINE, ONE_GPU, PAID, Example, case, with_rules
from windlass.core.facts import Facts, SeenPartition, SeenQos
from windlass.core.plan import Plan

BIG = replace(ONE_GPU, account="def-prof", nodes=2, gpus_per_node=4, cpus_per_task=8, gpu_spelled="a100")
TINY = replace(ALICE, max_per_job={"cpu": 4, "gres/gpu": 8, "billing": 1})
STRICT = SeenQos(name="strict", max_per_user={"gres/gpu": 2}, denies_on_limit=True)
PAID_CHAIN = replace(CHAIN, account="def-prof")


def of_qos(qos: SeenQos) -> Facts:
    return replace(MINE, qos=(qos,), associations=(replace(ALICE, default_qos=qos.name),))


def in_qos(plan: Plan, qos: str) -> Plan:
    return replace(plan, qos=qos)


EXAMPLES = {
    "C104": Example(
        trips=case(facts=replace(MINE, jobs_in_queue=7), plan=PAID_CHAIN),
        passes=case(facts=replace(MINE, jobs_in_queue=6), plan=PAID_CHAIN),
        says="you may have 10 jobs submitted with account def-prof; 7 are, and this run needs 4",
        refusal="AssocMaxSubmitJobLimit",
        also_trips=(
            case(plan=CHAIN, site=with_rules(max_submitted=3)),
            case(plan=PAID_CHAIN, facts=of_qos(SeenQos(name="test", max_submit=3))),
            case(
                plan=PAID,
                facts=replace(of_qos(SeenQos(name="test", max_submit=3)), jobs_by_qos={"test": 3, "normal": 1}),
            ),
            # Perhaps: some may be of another QOS.
            case(plan=PAID, facts=replace(of_qos(SeenQos(name="test", max_submit=3)), jobs_in_queue=3)),
        ),
        also_passes=(
            case(plan=PAID_CHAIN, facts=MINE),
            case(plan=CHAIN),
            case(
                plan=PAID,
                facts=replace(of_qos(SeenQos(name="test", max_submit=3)), jobs_in_queue=9, jobs_by_qos={"test": 2}),
            ),
            # A limit of the QOS takes the place of the account's.
            case(plan=replace(PAID, links=11), facts=of_qos(SeenQos(name="large", max_submit=20))),
            case(plan=replace(PAID, links=11), facts=replace(MINE, enforces_limits=False)),
        ),
    ),
    "C110": Example(
        trips=case(facts=replace(of_qos(SeenQos(name="test", max_jobs=1)), jobs_in_queue=1), plan=PAID),
        passes=case(facts=replace(of_qos(SeenQos(name="test", max_jobs=2)), jobs_in_queue=1), plan=PAID),
        says="QOS test runs 1 job of yours at once, and 1 is in the queue already: this one may wait",
        also_trips=(case(facts=of_qos(SeenQos(name="shut", max_jobs=0)), plan=PAID),),
        also_passes=(case(facts=of_qos(SeenQos(name="test", max_jobs=1)), plan=PAID_CHAIN), case()),
    ),
    "C111": Example(
        trips=case(plan=replace(PLAN, links=101)),
        passes=case(plan=replace(PLAN, links=100)),
        says="the run is cut into 101 jobs; more than 100 of one user are unwelcome",
    ),
    "C112": Example(
        trips=case(facts=replace(MINE, associations=(TINY,)), plan=replace(PAID, cpus_per_task=6)),
        passes=case(facts=replace(MINE, associations=(TINY,)), plan=replace(PAID, cpus_per_task=4)),
        says="the job asks for 6 CPUs; account def-prof gives one job at most 4 CPUs",
        refusal="(AssocMaxCpuPerJobLimit)",
        also_trips=(
            case(facts=of_qos(SeenQos(name="small", max_per_job={"gres/gpu:a100": 4})), plan=BIG),
            case(facts=of_qos(SeenQos(name="small", max_per_job={"node": 1})), plan=BIG),
            case(facts=of_qos(SeenQos(name="small", max_per_job={"mem": 9000})), plan=replace(PAID, memory_mb=9001)),
        ),
        also_passes=(
            case(facts=of_qos(SeenQos(name="large", max_per_job={"gres/gpu": 8, "billing": 1})), plan=BIG),
            case(facts=of_qos(SeenQos(name="small", max_per_job={"mem": 9000})), plan=replace(PAID, memory_mb=0)),
            case(
                facts=replace(MINE, associations=(TINY,), qos=(SeenQos(name="big", max_per_job={"cpu": 64}),)),
                plan=replace(PAID, cpus_per_task=6, qos="big"),
            ),
            case(facts=replace(MINE, associations=(TINY,), enforces_limits=False), plan=replace(PAID, cpus_per_task=6)),
        ),
    ),
    "C113": Example(
        trips=case(facts=of_qos(STRICT), plan=replace(ONE_GPU, account="def-prof", gpus_per_node=3)),
        passes=case(facts=of_qos(STRICT), plan=replace(ONE_GPU, account="def-prof", gpus_per_node=2)),
        says="the job asks for 3 GPUs; QOS strict gives one user at most 2 GPUs",
        refusal="QOSMaxGRESPerUser",
        also_trips=(
            # The QOS of a partition holds for every job in it.
            case(
                facts=Facts(partitions=(SeenPartition(name="gpu", qos="strict"),), qos=(STRICT,)),
                plan=replace(ONE_GPU, gpus_per_node=3),
            ),
        ),
        also_passes=(case(facts=of_qos(STRICT), plan=replace(PAID, cpus_per_task=64)),),
    ),
    "C114": Example(
        trips=case(facts=of_qos(SeenQos(name="group", group_at_once={"node": 1})), plan=BIG),
        passes=case(facts=of_qos(SeenQos(name="group", group_at_once={"node": 2})), plan=BIG),
        says="the job asks for 2 nodes; QOS group gives all its jobs together at most 1 node",
        refusal="(QOSGrpNodeLimit)",
        also_trips=(case(facts=replace(MINE, associations=(replace(ALICE, group_at_once={"cpu": 2}),)), plan=BIG),),
    ),
    "C115": Example(
        trips=case(facts=of_qos(SeenQos(name="gpus", min_per_job={"gres/gpu": 1})), plan=PAID),
        passes=case(
            facts=of_qos(SeenQos(name="gpus", min_per_job={"gres/gpu": 1})), plan=replace(ONE_GPU, account="def-prof")
        ),
        says="the job asks for 0 GPUs; QOS gpus wants at least 1 GPU in each",
        refusal="(QOSMinGRES)",
        also_trips=(case(facts=of_qos(SeenQos(name="wide", min_per_job={"node": 2})), plan=PAID),),
        also_passes=(case(facts=of_qos(SeenQos(name="large", min_per_job={"mem": 9000, "billing": 9})), plan=PAID),),
    ),
}
