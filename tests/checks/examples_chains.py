"""C204, C205, C222 to C224: what happens when one job ends and another begins."""

from dataclasses import replace

from tests.builders import PLAN
from tests.checks.cases import ALICE, CHAIN, MINE, ONE_GPU, PAID, Example, case, seen, with_rules
from windlass.core.facts import Facts, SeenPartition, SeenQos
from windlass.core.site import ChainStyle

PUSHED = SeenPartition(name="gpu", preempts=True)

EXAMPLES = {
    "C204": Example(
        trips=case(plan=CHAIN),
        passes=case(plan=replace(CHAIN, checkpoint_folder="checkpoints")),
        says="the run needs 4 jobs one after another, and no checkpoint folder is named",
    ),
    "C205": Example(
        trips=case(plan=CHAIN, facts=Facts(max_array=4)),
        passes=case(plan=CHAIN, facts=Facts(max_array=5)),
        says="the run needs 4 links; arrays here end at 3",
        refusal="Invalid job array specification",
        also_trips=(case(plan=CHAIN, facts=Facts(max_array=0), site=with_rules(max_array=1000)),),
        also_passes=(
            case(facts=Facts(max_array=1)),
            case(plan=CHAIN),
            case(plan=replace(CHAIN, chain=ChainStyle.DEPENDENCY), facts=Facts(max_array=4)),
        ),
    ),
    "C222": Example(
        trips=case(facts=seen(PUSHED), plan=ONE_GPU),
        passes=case(facts=seen(PUSHED), plan=replace(ONE_GPU, checkpoint_folder="checkpoints")),
        says="jobs in partition gpu may be pushed out by others at any time, and no checkpoint folder is named",
        also_trips=(
            case(
                facts=replace(
                    MINE,
                    qos=(SeenQos(name="opp", preempted_by=("regular",)),),
                    associations=(replace(ALICE, default_qos="opp"),),
                ),
                plan=PAID,
            ),
        ),
        also_passes=(case(facts=seen(SeenPartition(name="gpu")), plan=ONE_GPU), case(facts=seen(PUSHED))),
    ),
    "C223": Example(
        trips=case(plan=replace(PLAN, requeue=True)),
        passes=case(plan=replace(PLAN, requeue=True, checkpoint_folder="checkpoints")),
        says="after a lost node Slurm starts the job again from its beginning, and its hours are paid twice",
    ),
    "C224": Example(
        trips=case(facts=Facts(inside_job="4711")),
        passes=case(facts=Facts(inside_job="4711"), site=with_rules(cuts_to_fit=True)),
        says="this shell sits in job 4711; some sites refuse submissions from there",
    ),
}
