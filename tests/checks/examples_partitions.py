"""C201, C225, C226: is the partition open, and open to this user."""

from dataclasses import replace

from tests.builders import CPU, GPU, SITE
from tests.checks.cases import ONE_GPU, Example, case, seen
from windlass.core.facts import SeenPartition

EXAMPLES = {
    "C201": Example(
        trips=case(facts=seen(SeenPartition(name="gpu", state="DOWN")), plan=ONE_GPU),
        passes=case(facts=seen(SeenPartition(name="cpu", state="DOWN")), plan=ONE_GPU),
        says="partition gpu is DOWN now; the job would wait",
        also_trips=(case(facts=seen(SeenPartition(name="gpu", state="DRAIN")), plan=ONE_GPU),),
    ),
    "C225": Example(
        trips=case(site=replace(SITE, partitions=(CPU, replace(GPU, category="premium"))), plan=ONE_GPU),
        passes=case(
            site=replace(SITE, partitions=(CPU, replace(GPU, category="premium")), category="premium"), plan=ONE_GPU
        ),
        says='partition gpu is closed to you: it is for premium projects only; category = "premium" in the site file',
        also_trips=(case(site=replace(SITE, partitions=(CPU, replace(GPU, forbidden="no"))), plan=ONE_GPU),),
    ),
    "C229": Example(
        trips=case(facts=seen(), plan=replace(ONE_GPU, partition="gpus")),
        passes=case(facts=seen(), plan=ONE_GPU),
        says="alpha has no partition 'gpus'; it has gpu",
        refusal="Invalid partition name specified",
        also_passes=(case(plan=replace(ONE_GPU, partition="gpus")), case(facts=seen())),
    ),
    "C226": Example(
        trips=case(facts=seen(SeenPartition(name="gpu", needs_reservation=True)), plan=ONE_GPU),
        passes=case(
            facts=seen(SeenPartition(name="gpu", needs_reservation=True)), plan=replace(ONE_GPU, reservation="course")
        ),
        says="partition gpu takes jobs in a reservation only, and none is named",
        refusal="Access/permission denied",
        also_trips=(case(facts=seen(SeenPartition(name="gpu", only_root=True)), plan=ONE_GPU),),
    ),
}
