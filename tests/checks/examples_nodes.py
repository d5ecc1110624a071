"""C207, C212 to C214, C227, C228, C230: how many nodes, and what they have."""

from dataclasses import replace

from tests.builders import CPU, PLAN, SITE, SPEC
from tests.checks.cases import FAT, GPU_SEEN, ONE_GPU, Example, case, seen, with_rules
from windlass.core.facts import Facts, NodeShape, SeenPartition
from windlass.core.run import Resources

NO_SUCH_NODE = "Requested node configuration is not available"
THIN = NodeShape(nodes=2, cpus=16, memory_mb=64_000, features=("cpuonly",))
MIXED = replace(GPU_SEEN, shapes=(replace(FAT, nodes=2), replace(THIN, cpus=128, nodes=6)), cpus_per_node=128)
SMALL = SeenPartition(name="gpu", nodes=2, cpus_per_node=16, memory_mb_per_node=64_000, shapes=(THIN,))
ASKS_MEMORY = replace(SPEC, resources=Resources(memory_mb=1000))

EXAMPLES = {
    "C207": Example(
        trips=case(plan=replace(ONE_GPU, tasks_per_node=4, cpus_per_task=17), facts=seen()),
        passes=case(plan=replace(ONE_GPU, tasks_per_node=4, cpus_per_task=16), facts=seen()),
        says="4 tasks of 17 cores are 68 on each node; nodes of gpu have 64",
        refusal="CPU count per node can not be satisfied",
        also_trips=(
            # More than the whole partition: Slurm words it otherwise.
            case(plan=replace(ONE_GPU, cpus_per_task=33), facts=seen(SMALL, enforces=False)),
            case(plan=replace(ONE_GPU, cpus_per_task=9), facts=seen(replace(SMALL, max_cpus_per_node=8))),
            # The site chooses the partition, and none has such a node.
            case(plan=replace(PLAN, cpus_per_task=65), facts=seen()),
        ),
        also_passes=(
            case(plan=replace(ONE_GPU, cpus_per_task=900), facts=seen(SeenPartition(name="gpu"))),
            case(plan=replace(ONE_GPU, cpus_per_task=900)),
        ),
    ),
    "C212": Example(
        trips=case(plan=replace(ONE_GPU, nodes=9), facts=seen(enforces=False)),
        passes=case(plan=replace(ONE_GPU, nodes=8), facts=seen(enforces=False)),
        says="the job asks for 9 nodes; gpu gives at most 8",
        refusal="(PartitionNodeLimit)",
        also_trips=(
            case(plan=ONE_GPU, facts=seen(replace(GPU_SEEN, min_nodes=2))),
            case(plan=replace(ONE_GPU, nodes=9, cpus_per_task=64), facts=seen()),
            case(plan=replace(ONE_GPU, nodes=3), facts=seen(replace(GPU_SEEN, max_nodes=2))),
            case(
                plan=replace(PLAN, partition="cpu", nodes=3),
                site=replace(SITE, partitions=(replace(CPU, max_nodes=2),)),
            ),
        ),
        also_passes=(
            case(plan=replace(ONE_GPU, nodes=900), facts=Facts(partitions=(SeenPartition(name="gpu"),))),
            case(plan=replace(PLAN, nodes=900)),
        ),
    ),
    "C230": Example(
        trips=case(plan=replace(ONE_GPU, gpus_per_node=4, processes_per_node=4, launcher="torchrun", cpus_per_task=2)),
        passes=case(plan=replace(ONE_GPU, gpus_per_node=4, processes_per_node=4, launcher="torchrun", cpus_per_task=4)),
        says="4 processes of a node share 2 cores: torchrun has one task a node",
        also_passes=(
            case(plan=replace(ONE_GPU, gpus_per_node=4, processes_per_node=4, tasks_per_node=4, launcher="srun")),
        ),
    ),
    "C213": Example(
        trips=case(plan=replace(ONE_GPU, nodes=3), facts=seen(MIXED)),
        passes=case(plan=replace(ONE_GPU, nodes=2), facts=seen(MIXED)),
        says="the job asks for 3 nodes with 1 CPU, 1 GPU each; 2 of gpu have that",
        refusal=NO_SUCH_NODE,
        also_trips=(case(plan=replace(ONE_GPU, cpus_per_task=128), facts=seen(MIXED)),),
        also_passes=(
            case(plan=replace(ONE_GPU, nodes=9), facts=seen(MIXED)),  # C212 tells it
            case(plan=replace(ONE_GPU, gpus_per_node=5), facts=seen(MIXED)),  # C215 tells it
            case(plan=replace(ONE_GPU, nodes=3), facts=seen(replace(MIXED, shapes=(NodeShape(nodes=2),)))),
        ),
    ),
    "C214": Example(
        trips=case(plan=replace(ONE_GPU, memory_mb=512_001), facts=seen()),
        passes=case(plan=replace(ONE_GPU, memory_mb=512_000), facts=seen()),
        says="the job asks for 512001 MB on each node; nodes of gpu have 512000 MB",
        refusal="Memory specification can not be satisfied",
        also_trips=(
            case(plan=replace(ONE_GPU, memory_mb=2000), facts=seen(replace(GPU_SEEN, max_memory_mb_per_node=1000))),
            case(plan=replace(ONE_GPU, memory_mb=0), facts=seen(replace(GPU_SEEN, max_memory_mb_per_node=1000))),
            case(plan=replace(ONE_GPU, memory_mb=2), facts=seen(SeenPartition(name="gpu", memory_mb_per_node=1))),
        ),
        also_passes=(case(plan=replace(ONE_GPU, memory_mb=0), facts=seen()), case(plan=ONE_GPU, facts=seen())),
    ),
    "C227": Example(
        trips=case(spec=ASKS_MEMORY, site=with_rules(memory_can_be_asked=False)),
        passes=case(site=with_rules(memory_can_be_asked=False)),
        says="memory of 1000 MB is asked for, and alpha takes no --mem: it is left out",
        also_trips=(case(spec=ASKS_MEMORY, facts=Facts(memory_is_counted=False)),),
        also_passes=(case(spec=ASKS_MEMORY),),
    ),
    "C228": Example(
        trips=case(plan=replace(PLAN, constraint="gpu&h100"), facts=seen()),
        passes=case(plan=replace(PLAN, constraint="[gpu*2&a100*4]|(gpu)"), facts=seen()),
        says="no node of alpha has the feature 'h100'; there are a100, gpu",
        refusal="Invalid feature specification",
        also_passes=(case(plan=replace(PLAN, constraint="h100")),),
    ),
}
