"""C202, C203, C209 to C211, C220, C221: how long one job may be, and how long it should."""

from dataclasses import replace
from datetime import timedelta

from tests.builders import HOUR, MINUTE, PLAN, SITE, SPEC
from tests.checks.cases import ALICE, CHAIN, MINE, ONE_GPU, PAID, REMOTE, Example, case, seen, with_rules
from windlass.core.facts import Facts, SeenPartition, SeenQos
from windlass.core.run import Resources

SHORT = SeenPartition(name="gpu", max_time=HOUR)
STRICT = SeenQos(name="strict", max_time=30 * MINUTE, denies_on_limit=True)
LONG = replace(PAID, link_time=2 * HOUR)
HOURLY = replace(ALICE, max_time=HOUR)
BINS = with_rules(time_bins=(3 * HOUR, 12 * HOUR, 24 * HOUR))

EXAMPLES = {
    "C202": Example(
        trips=case(facts=seen(SHORT, enforces=False), plan=replace(ONE_GPU, link_time=2 * HOUR)),
        passes=case(facts=seen(SHORT, enforces=False), plan=ONE_GPU),
        says="one job asks for 2 h; gpu gives at most 1 h",
        refusal="(PartitionTimeLimit)",
        also_trips=(
            case(facts=seen(SHORT), plan=replace(ONE_GPU, link_time=2 * HOUR)),
            case(plan=replace(ONE_GPU, link_time=25 * HOUR)),  # by the site file alone
            case(facts=seen(SHORT), plan=replace(PLAN, link_time=2 * HOUR)),  # the site chooses the partition
        ),
        also_passes=(
            case(plan=replace(ONE_GPU, link_time=900 * HOUR), facts=Facts(partitions=(SeenPartition(name="gpu"),))),
            case(plan=replace(PLAN, link_time=900 * HOUR)),
            case(facts=Facts(partitions=(SHORT, SeenPartition(name="x"))), plan=replace(PLAN, link_time=2 * HOUR)),
        ),
    ),
    "C203": Example(
        trips=case(site=REMOTE, spec=replace(SPEC, resources=Resources())),
        passes=case(site=SITE, spec=replace(SPEC, resources=Resources())),  # this very machine
        says="no time was given; 1 h was taken",
        also_passes=(case(site=REMOTE),),
    ),
    "C209": Example(
        trips=case(plan=replace(CHAIN, link_time=timedelta(seconds=20))),
        passes=case(plan=replace(CHAIN, link_time=timedelta(minutes=5))),
        says="the run is cut into 4 jobs of 20 s",
    ),
    "C210": Example(
        trips=case(facts=replace(MINE, associations=(HOURLY,)), plan=LONG),
        passes=case(facts=replace(MINE, associations=(HOURLY,)), plan=PAID),
        says="one job asks for 2 h; account def-prof gives at most 1 h",
        refusal="(AssocMaxWallDurationPerJobLimit)",
        also_trips=(
            case(facts=replace(MINE, qos=(STRICT,)), plan=replace(PAID, qos="strict")),
            # The partition's QOS comes first.
            case(
                facts=Facts(
                    partitions=(SeenPartition(name="gpu", qos="strict"),),
                    qos=(STRICT, SeenQos(name="long", max_time=9 * HOUR)),
                ),
                plan=replace(ONE_GPU, qos="long"),
            ),
        ),
        also_passes=(
            # A limit of the QOS takes the place of the account's, even a wider one.
            case(
                facts=replace(MINE, associations=(HOURLY,), qos=(SeenQos(name="long", max_time=9 * HOUR),)),
                plan=replace(LONG, qos="long"),
            ),
            case(facts=replace(MINE, associations=(HOURLY,), enforces_limits=False), plan=LONG),
            case(facts=replace(MINE, associations=(HOURLY,)), plan=replace(LONG, account="other")),
        ),
    ),
    "C211": Example(
        trips=case(site=with_rules(max_time=HOUR), plan=LONG),
        passes=case(site=with_rules(max_time=2 * HOUR), plan=LONG),
        says="one job asks for 2 h; alpha gives at most 1 h",
    ),
    "C220": Example(
        trips=case(
            site=with_rules(min_job_time=HOUR, min_test_time=5 * MINUTE), plan=replace(PLAN, link_time=59 * MINUTE)
        ),
        passes=case(site=with_rules(min_job_time=HOUR), plan=PLAN),
        says="one job asks for 59 min; alpha wants jobs of at least 1 h, tests 5 min",
        also_passes=(case(plan=replace(PLAN, link_time=MINUTE)),),
    ),
    "C221": Example(
        trips=case(site=BINS, plan=replace(PLAN, link_time=13 * HOUR)),
        passes=case(site=BINS, plan=replace(PLAN, link_time=12 * HOUR)),
        says="one job asks for 13 h; jobs of at most 12 h may use more nodes of alpha, and start sooner",
        also_passes=(case(site=BINS, plan=replace(PLAN, link_time=20 * HOUR)), case(site=BINS, plan=PLAN)),
    ),
}
