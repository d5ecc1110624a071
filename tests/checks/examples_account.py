"""C101 to C109: who pays, with which QOS, and may they in this partition."""

from dataclasses import replace

from tests.builders import PLAN
from tests.checks.cases import ALICE, MINE, ONE_GPU, PAID, Example, case, seen, with_rules
from windlass.core.facts import Association, Facts, SeenPartition

WRONG_ACCOUNT = "Invalid account or account/partition combination specified"
BOUND = Association(account="gpu-prof", partition="gpu", qos=("normal",))
RULED = Facts(associations=(ALICE,), enforces_limits=True, enforces_partition_limits=True, allows_children=False)
CLOSED = SeenPartition(name="gpu", allow_accounts=("rich", "richer"))
PAID_GPU = replace(ONE_GPU, account="def-prof")

EXAMPLES = {
    "C101": Example(
        trips=case(site=with_rules(needs_account=True), facts=MINE),
        passes=case(site=with_rules(needs_account=True), plan=PAID),
        says="alpha wants an account with every job; yours are def-prof",
        also_trips=(
            case(
                site=with_rules(needs_account=True),
                facts=replace(MINE, associations=(replace(ALICE, is_default=False),)),
            ),
        ),
        also_passes=(case(),),
    ),
    "C102": Example(
        trips=case(facts=MINE, plan=replace(PLAN, account="other")),
        passes=case(facts=MINE, plan=replace(PLAN, account="DEF-prof")),
        says="account 'other' is not yours at alpha; yours: def-prof",
        refusal=WRONG_ACCOUNT,
        also_passes=(case(plan=replace(PLAN, account="other")), case(facts=MINE)),
    ),
    "C103": Example(
        trips=case(facts=MINE, plan=replace(PAID, qos="vip")),
        passes=case(facts=MINE, plan=replace(PAID, qos="high")),
        says="QOS 'vip' is not allowed for you; allowed: high, normal",
        refusal="Invalid qos specification",
        also_trips=(case(facts=MINE, plan=replace(PLAN, qos="vip")),),
        also_passes=(
            case(facts=Facts(associations=(Association(account="x"),)), plan=replace(PLAN, qos="vip")),
            case(facts=MINE),
        ),
    ),
    "C105": Example(
        trips=case(facts=Facts(associations=(), enforces_limits=True, user="carol")),
        passes=case(facts=Facts(associations=None, enforces_limits=True, user="carol")),
        says="Slurm at alpha knows no account of carol, and every job needs one",
        refusal=WRONG_ACCOUNT,
        also_passes=(case(facts=Facts(associations=(), enforces_limits=False)), case(facts=MINE)),
    ),
    "C106": Example(
        trips=case(facts=replace(MINE, associations=(BOUND,)), plan=replace(PLAN, account="gpu-prof", partition="cpu")),
        passes=case(facts=replace(MINE, associations=(BOUND,)), plan=replace(ONE_GPU, account="gpu-prof")),
        says="account gpu-prof is for gpu only, and the job goes to cpu",
        refusal=WRONG_ACCOUNT,
        also_passes=(
            case(facts=MINE, plan=replace(PAID, partition="cpu")),
            case(facts=replace(MINE, associations=(BOUND,)), plan=replace(PLAN, account="gpu-prof")),
            case(
                facts=replace(MINE, associations=(BOUND, replace(BOUND, partition=None))),
                plan=replace(PLAN, account="gpu-prof", partition="cpu"),
            ),
        ),
    ),
    "C107": Example(
        trips=case(facts=replace(RULED, partitions=(CLOSED,)), plan=PAID_GPU),
        passes=case(
            facts=replace(RULED, partitions=(replace(CLOSED, allow_accounts=("rich", "Def-Prof")),)), plan=PAID_GPU
        ),
        says="partition gpu takes only rich, richer; the account is def-prof",
        refusal=WRONG_ACCOUNT,
        also_trips=(
            case(
                facts=replace(RULED, partitions=(SeenPartition(name="gpu", deny_accounts=("def-prof",)),)),
                plan=PAID_GPU,
            ),
            # In 22.05 a list does not hold the accounts below those it names.
            case(
                facts=replace(RULED, partitions=(CLOSED,), associations=(replace(ALICE, parents=("rich",)),)),
                plan=PAID_GPU,
            ),
        ),
        also_passes=(
            case(facts=replace(RULED, partitions=(CLOSED,), associations=None), plan=ONE_GPU),
            case(
                facts=replace(
                    RULED,
                    partitions=(CLOSED,),
                    associations=(replace(ALICE, parents=("rich",)),),
                    allows_children=True,
                ),
                plan=PAID_GPU,
            ),
            case(facts=replace(RULED, partitions=(SeenPartition(name="gpu", deny_accounts=("poor",)),)), plan=PAID_GPU),
        ),
    ),
    "C108": Example(
        trips=case(
            facts=replace(
                RULED, partitions=(SeenPartition(name="gpu", allow_qos=("high",)),), enforces_partition_limits=False
            ),
            plan=PAID_GPU,
        ),
        passes=case(
            facts=replace(RULED, partitions=(SeenPartition(name="gpu", allow_qos=("high",)),)),
            plan=replace(PAID_GPU, qos="high"),
        ),
        says="partition gpu takes only QOS high; the job has normal",
        refusal="(Job's QOS not permitted to use this partition (gpu allows high not normal))",
        also_trips=(
            case(facts=replace(RULED, partitions=(SeenPartition(name="gpu", deny_qos=("normal",)),)), plan=PAID_GPU),
        ),
        also_passes=(
            case(facts=replace(RULED, partitions=(SeenPartition(name="gpu", deny_qos=("low",)),)), plan=PAID_GPU),
            # Whose account is not known may have another default.
            case(facts=seen(SeenPartition(name="gpu", allow_qos=("high",))), plan=ONE_GPU),
        ),
    ),
    "C109": Example(
        trips=case(facts=seen(SeenPartition(name="gpu", allow_groups=("physics",)), groups=("users",)), plan=ONE_GPU),
        passes=case(
            facts=seen(SeenPartition(name="gpu", allow_groups=("physics",)), groups=("users", "physics")), plan=ONE_GPU
        ),
        says="partition gpu is for the groups physics; yours: users",
        refusal="User's group not permitted to use this partition",
        also_passes=(
            case(facts=seen(SeenPartition(name="gpu", allow_groups=("physics",))), plan=ONE_GPU),
            case(facts=seen(groups=("users",)), plan=ONE_GPU),
        ),
    ),
}
