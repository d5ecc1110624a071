"""Values to begin a test with: it changes, and so names, only what it is about."""

from dataclasses import replace
from datetime import timedelta

from windlass.core.cost import Cost
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.jobs import JobSeen, JobState
from windlass.core.plan import Plan
from windlass.core.planning import Attempt, make_plan
from windlass.core.record import RunRecord, RunState, Submission
from windlass.core.run import Resources, RunSpec
from windlass.core.site import CostUnit, GpuKind, NodeType, Partition, Site
from windlass.launchers import LAUNCHERS

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)

CPU_NODE = NodeType(name="thin", count=100, cores=128, memory_gb=256)
GPU_NODE = NodeType(name="fat", count=8, cores=64, memory_gb=512, gpu="a100", gpus=4)
CPU = Partition(name="cpu", nodes=("thin",), max_time=72 * HOUR, is_default=True)
GPU = Partition(name="gpu", nodes=("fat",), max_time=24 * HOUR)
SITE = Site(
    name="alpha",
    root="/scratch/alice/windlass",
    gpus=(GpuKind(name="a100"),),
    node_types=(CPU_NODE, GPU_NODE),
    partitions=(CPU, GPU),
)
BARE_SITE = Site(name="bare", root="/home/alice/windlass")  # nothing is known of it

SPEC = RunSpec(name="digits", command="python train.py", resources=Resources(time=HOUR))
ATTEMPT = Attempt(run_id="digits-k3f9w")
PLAN = Plan(
    run_id="digits-k3f9w",
    site="alpha",
    folder="/scratch/alice/windlass/runs/digits-k3f9w",
    command="python train.py",
    argv=("bash", "-c", "python train.py"),
    cost=Cost(unit=CostUnit.NONE, one_link=0, whole=0),
)
RECORD = RunRecord(
    run_id="digits-k3f9w",
    name="digits",
    site="alpha",
    folder="/scratch/alice/windlass/runs/digits-k3f9w",
    command="python train.py",
    state=RunState.WAITING,
    created=1000.0,
    updated=1000.0,
    submissions=(Submission(number=1, token="windlass:digits-k3f9w:1", job_id="45"),),
)


def plan_for(
    resources: Resources = SPEC.resources, *, site: Site = SITE, facts: Facts = NOTHING_SEEN, spec: RunSpec = SPEC
) -> Plan:
    """What `make_plan` decides, with all launchers; `resources` takes the place of the spec's."""
    if resources is not SPEC.resources:
        spec = replace(spec, resources=resources)
    return make_plan(spec, site, facts, ATTEMPT, launchers=LAUNCHERS)


def make_job(state: JobState, *, job_id: str = "45", task: int | None = None, started: float | None = None) -> JobSeen:
    """A job of RECORD as squeue shows it."""
    return JobSeen(
        job_id=job_id,
        array_id=job_id.split("_")[0] if "_" in job_id else None,
        task=task,
        state=state,
        word=state.name,
        token="windlass:digits-k3f9w:1",
        name="digits-k3f9w",
        started=started,
    )
