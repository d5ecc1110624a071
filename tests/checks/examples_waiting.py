"""C601 to C604: reservations and maintenance."""

from dataclasses import replace

from tests.builders import HOUR, PLAN
from tests.checks.cases import NOW, ONE_GPU, Example, case
from windlass.core.facts import Facts, Reservation

COURSE = Reservation(name="course", starts=NOW - 3600, ends=NOW + 7200, users=("alice", "bob"), accounts=("training",))
WINDOW = Reservation(
    name="service", starts=NOW + 4 * 3600, ends=NOW + 8 * 3600, all_nodes=True, is_maintenance=True, users=("root",)
)
RESERVED = replace(PLAN, reservation="course", account="training")
LONG = replace(PLAN, link_time=5 * HOUR)


def with_reservation(*several: Reservation, user: str = "alice") -> Facts:
    return Facts(reservations=several, user=user)


EXAMPLES = {
    "C601": Example(
        trips=case(plan=replace(PLAN, reservation="lecture"), facts=with_reservation(COURSE, WINDOW)),
        passes=case(plan=RESERVED, facts=with_reservation(COURSE, WINDOW)),
        says="alpha has no reservation 'lecture'; there are course",
        refusal="Requested reservation is invalid",
        also_trips=(case(plan=RESERVED, facts=with_reservation()),),
        also_passes=(case(plan=RESERVED), case(facts=with_reservation())),
    ),
    "C602": Example(
        trips=case(plan=replace(RESERVED, account="def-prof"), facts=with_reservation(COURSE)),
        passes=case(plan=replace(RESERVED, account="Training"), facts=with_reservation(COURSE)),
        says="reservation course is for training; the account is def-prof",
        refusal="Access denied to requested reservation",
        also_trips=(
            case(plan=RESERVED, facts=with_reservation(COURSE, user="carol")),
            case(plan=RESERVED, facts=with_reservation(replace(COURSE, users=("-alice",)))),
        ),
        also_passes=(
            case(plan=RESERVED, facts=with_reservation(replace(COURSE, users=("-bob",)))),
            case(plan=RESERVED, facts=with_reservation(replace(COURSE, users=(), accounts=()), user="carol")),
            case(facts=with_reservation(COURSE, user="carol")),
        ),
    ),
    "C603": Example(
        trips=case(plan=replace(RESERVED, link_time=3 * HOUR), facts=with_reservation(COURSE)),
        passes=case(plan=replace(RESERVED, link_time=2 * HOUR), facts=with_reservation(COURSE)),
        says="reservation course has 2 h left; one job asks for 3 h",
        also_trips=(case(plan=RESERVED, facts=with_reservation(replace(COURSE, starts=NOW + 60))),),
        also_passes=(case(plan=replace(RESERVED, link_time=3 * HOUR), facts=with_reservation(COURSE), now=None),),
    ),
    "C604": Example(
        trips=case(plan=LONG, facts=with_reservation(WINDOW)),
        passes=case(plan=replace(PLAN, link_time=4 * HOUR), facts=with_reservation(WINDOW)),
        says="maintenance service begins in 4 h and lasts 4 h; a job of 5 h does not start before it ends",
        refusal="(ReqNodeNotAvail, Reserved for maintenance)",
        also_trips=(
            case(
                plan=replace(ONE_GPU, link_time=5 * HOUR),
                facts=with_reservation(replace(WINDOW, all_nodes=False, partitions_covered=("gpu",))),
            ),
            # No useful time before it, or in the midst of it: whatever one asks for waits.
            case(plan=LONG, facts=with_reservation(replace(WINDOW, starts=NOW + 300))),
            case(plan=PLAN, facts=with_reservation(replace(WINDOW, starts=NOW - 300))),
        ),
        also_passes=(
            case(plan=LONG, facts=with_reservation(replace(WINDOW, all_nodes=False, partitions_covered=("gpu",)))),
            case(plan=LONG, facts=with_reservation(replace(WINDOW, is_maintenance=False))),
            case(plan=LONG, facts=with_reservation(replace(WINDOW, starts=NOW - 20, ends=NOW - 10))),
            case(plan=LONG, facts=with_reservation(WINDOW), now=None),
        ),
    ),
}
