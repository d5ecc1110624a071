"""C206, C215 to C219: how many GPUs, of which kind, and what is wasted beside them."""

from dataclasses import replace

from tests.builders import CPU, GPU, GPU_NODE, SITE, SPEC
from tests.checks.cases import FAT, GPU_SEEN, ONE_GPU, Example, case, seen, with_rules
from windlass.core.facts import NodeShape, SeenPartition
from windlass.core.run import Resources
from windlass.core.site import GpuDialect, GpuKind, Rules

WHOLE = replace(SITE, rules=Rules(whole_nodes=True))
NO_GPUS = SeenPartition(name="gpu", cpus_per_node=8, shapes=(NodeShape(nodes=1, cpus=8),))
UNTYPED = replace(GPU_SEEN, gpus=(("", 4),), shapes=(replace(FAT, gpus=(("", 4),)),))
TWO_KINDS = replace(
    SITE,
    gpus=(GpuKind(name="a100"), GpuKind(name="v100")),
    node_types=(*SITE.node_types, replace(GPU_NODE, name="old", gpu="v100", gpus=2)),
    partitions=(CPU, replace(GPU, nodes=("fat", "old"))),
)
MANY_CORES = replace(SPEC, resources=Resources(cpus=32))

EXAMPLES = {
    "C206": Example(
        trips=case(site=WHOLE, plan=ONE_GPU),
        passes=case(site=WHOLE, plan=replace(ONE_GPU, gpus_per_node=4)),
        says="a node here has 4 GPUs and comes whole; you use 1",
        also_trips=(
            case(plan=replace(ONE_GPU, exclusive=True)),
            case(site=replace(SITE, partitions=(CPU, replace(GPU, whole_nodes=True))), plan=ONE_GPU),
            case(plan=ONE_GPU, facts=seen(SeenPartition(name="gpu", whole_nodes=True))),
        ),
        also_passes=(
            case(plan=ONE_GPU),
            case(site=WHOLE),
            case(site=replace(WHOLE, partitions=(CPU, replace(GPU, whole_nodes=False))), plan=ONE_GPU),
        ),
    ),
    "C215": Example(
        trips=case(plan=replace(ONE_GPU, gpus_per_node=5), facts=seen()),
        passes=case(plan=replace(ONE_GPU, gpus_per_node=4), facts=seen()),
        says="the job asks for 5 GPUs on each node; nodes of gpu have at most 4",
        refusal="Requested node configuration is not available",
        also_trips=(
            case(plan=replace(ONE_GPU, gpu_spelled="h100"), facts=seen()),
            case(plan=replace(ONE_GPU, gpu_spelled="a100"), facts=seen(UNTYPED)),
            case(plan=ONE_GPU, facts=seen(NO_GPUS)),
            case(plan=replace(ONE_GPU, partition=None, gpu_spelled="h100"), facts=seen()),
        ),
        also_passes=(
            case(plan=replace(ONE_GPU, gpu_spelled="A100"), facts=seen()),
            case(plan=replace(ONE_GPU, gpus_per_node=9), facts=seen(SeenPartition(name="gpu"))),
            case(plan=replace(ONE_GPU, gpus_per_node=9, gpu_dialect=GpuDialect.CONSTRAINT), facts=seen()),
        ),
    ),
    "C216": Example(
        trips=case(site=with_rules(needs_gpu_type=True), plan=ONE_GPU),
        passes=case(site=with_rules(needs_gpu_type=True), plan=replace(ONE_GPU, gpu_spelled="a100")),
        says="alpha wants the kind of GPU to be named, and the run names none",
        also_passes=(case(site=with_rules(needs_gpu_type=True)),),
    ),
    "C217": Example(
        trips=case(site=TWO_KINDS, plan=replace(ONE_GPU, nodes=2)),
        passes=case(site=TWO_KINDS, plan=replace(ONE_GPU, nodes=2, gpu_spelled="a100")),
        says="no kind of GPU is named; gpu has a100, v100, and the nodes of the job may have different ones",
        also_trips=(case(site=TWO_KINDS, plan=ONE_GPU),),
        also_passes=(case(site=TWO_KINDS, plan=replace(ONE_GPU, gpus_per_node=4)), case(plan=ONE_GPU)),
    ),
    "C218": Example(
        trips=case(
            site=with_rules(typed_gpus=False), plan=ONE_GPU, spec=replace(SPEC, resources=Resources(gpu="a100"))
        ),
        passes=case(site=with_rules(typed_gpus=False), plan=ONE_GPU),
        says="gpu = 'a100' is asked for, and alpha takes no kind in a request",
    ),
    "C219": Example(
        trips=case(plan=replace(ONE_GPU, cpus_per_task=32), spec=MANY_CORES),
        passes=case(plan=replace(ONE_GPU, cpus_per_task=16), spec=MANY_CORES),
        says="the job asks for 32 cores for each GPU; its share of a node of gpu is 16",
        also_trips=(case(plan=ONE_GPU, spec=replace(SPEC, resources=Resources(memory_mb=400_000))),),
        also_passes=(
            case(plan=replace(ONE_GPU, cpus_per_task=32, exclusive=True), spec=MANY_CORES),
            case(plan=replace(ONE_GPU, gpus_per_node=4, cpus_per_task=64), spec=MANY_CORES),
            case(spec=MANY_CORES),
        ),
    ),
}
