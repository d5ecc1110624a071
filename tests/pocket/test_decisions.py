"""Pure decisions: layouts, dependencies, what starts and why the rest waits."""

from dataclasses import replace

import pytest

from windlass.pocket.dependencies import Verdict, make_lookup, read_dependency, weigh
from windlass.pocket.environment import Ground, StepShape, choose, make_job_environment, make_task_environment
from windlass.pocket.errors import PocketError
from windlass.pocket.layout import Machine, check_fits, make_layout
from windlass.pocket.model import Job, Request, Share, State
from windlass.pocket.scheduling import Decision, decide

MACHINE = Machine(cpus=8, memory_mb=16000, gpus=4)
REQUEST = Request(
    name="train", user="ada", uid=1000, partition="pocket", chdir="/w", submit_dir="/w", submit_host="laptop"
)
GROUND = Ground(state="/s", bin="/s/bin", node_tmp={"pocket1": "/t/1", "pocket2": "/t/2"}, has_gpus=True)


def make_job(job_id: int, cpus: int = 1, gpus: int = 0, **changes: object) -> Job:
    job = Job(id=job_id, name="train", request=REQUEST, layout=(Share(tasks=1, cpus=cpus, gpus=gpus),), submit_at=0.0)
    return replace(job, **changes)  # type: ignore[arg-type]


def decide_on(pending: list[Job], running: list[Job], known: list[Job] | None = None, now: float = 100.0) -> Decision:
    return decide(pending, running, MACHINE, make_lookup([*pending, *running, *(known or [])]), now)


def started(decision: Decision) -> list[int]:
    return [start.job.id for start in decision.starts]


def test_tasks_spread_in_blocks() -> None:
    layout = make_layout(replace(REQUEST, ntasks=3, min_nodes=2, cpus_per_task=2), MACHINE)

    assert [(share.tasks, share.cpus) for share in layout] == [(2, 4), (1, 2)]


def test_gpus_of_all_dialects() -> None:
    def gpus(**asked: int) -> list[int]:
        return [share.gpus for share in make_layout(replace(REQUEST, **asked), MACHINE)]  # type: ignore[arg-type]

    assert gpus(gpus_per_node=2, min_nodes=2) == [2, 2]
    assert gpus(gpus=3, min_nodes=2) == [2, 1]
    assert gpus(gpus_per_task=1, ntasks=4, ntasks_per_node=2) == [2, 2]


def test_memory_of_all_dialects() -> None:
    def memory(**asked: int) -> int:
        return make_layout(replace(REQUEST, **asked), MACHINE)[0].memory_mb  # type: ignore[arg-type]

    assert memory(memory_mb=100) == 100
    assert memory(memory_per_cpu_mb=100, cpus_per_task=4) == 400
    assert memory(memory_mb=0) == 16000
    assert memory() == 0


def test_says_what_the_machine_does_not_have() -> None:
    request = replace(REQUEST, cpus_per_task=9)

    with pytest.raises(PocketError, match="pocket is one machine, all nodes of a job together: 9 CPUs asked, 8 here"):
        check_fits(request, make_layout(request, MACHINE), MACHINE)


def test_first_come_first_served() -> None:
    decision = decide_on([make_job(1, 5), make_job(2, 5), make_job(3, 5)], [])

    assert started(decision) == [1]
    assert decision.reasons == {2: "Resources", 3: "Priority"}


def test_a_short_job_fills_a_hole_and_a_long_one_does_not() -> None:
    running = [make_job(1, 6, start_at=100.0, time_limit_s=600, state=State.RUNNING)]
    big, short, long = make_job(2, 8), make_job(3, 1, time_limit_s=300), make_job(4, 1, time_limit_s=900)

    decision = decide_on([big, short, long], running)

    assert started(decision) == [3]
    assert decision.reasons == {2: "Resources", 4: "Priority"}


def test_gpus_are_given_once() -> None:
    running = [replace(make_job(1, gpus=2), gpus=((0, 2),), state=State.RUNNING, start_at=1.0)]

    decision = decide_on([make_job(2, gpus=1), make_job(3, gpus=2)], running)

    assert decision.starts[0].gpus == ((1,),)
    assert decision.reasons == {3: "Resources"}


def test_reasons_to_wait() -> None:
    throttled = [make_job(10 + i, array_id=10, array_index=i, array_limit=1) for i in range(2)]
    waiting = replace(REQUEST, dependency="afterok:20")
    pending = [
        make_job(1, is_held=True),
        make_job(2, begin_at=200.0),
        *throttled,
        make_job(21, request=waiting),
    ]

    decision = decide_on(pending, [make_job(20, state=State.RUNNING, start_at=1.0)])

    assert started(decision) == [10]
    assert decision.reasons == {1: "JobHeldUser", 2: "BeginTime", 11: "JobArrayTaskLimit", 21: "Dependency"}


def test_kill_on_invalid_dependency() -> None:
    failed = make_job(1, state=State.FAILED, end_at=50.0)
    keeps = make_job(2, request=replace(REQUEST, dependency="afterok:1"))
    goes = make_job(3, request=replace(REQUEST, dependency="afterok:1", kills_on_invalid_dependency=True))

    decision = decide_on([keeps, goes], [], [failed])

    assert decision.reasons == {2: "DependencyNeverSatisfied"}
    assert [job.id for job in decision.cancels] == [3]


@pytest.mark.parametrize(
    ("text", "state", "verdict"),
    [
        ("afterok:1", State.COMPLETED, Verdict.MET),
        ("afterok:1", State.FAILED, Verdict.NEVER),
        ("afterok:1", State.RUNNING, Verdict.WAITING),
        ("afternotok:1", State.FAILED, Verdict.MET),
        ("afternotok:1", State.COMPLETED, Verdict.NEVER),
        ("afterany:1", State.CANCELLED, Verdict.MET),
        ("after:1", State.RUNNING, Verdict.MET),
        ("after:1+5", State.RUNNING, Verdict.WAITING),
        ("after:1", State.PENDING, Verdict.WAITING),
        ("afterok:999", State.FAILED, Verdict.MET),
        ("afterok:1?afterany:1", State.FAILED, Verdict.MET),
        ("afterok:1,afterany:1", State.FAILED, Verdict.NEVER),
        ("singleton", State.RUNNING, Verdict.WAITING),
        ("singleton", State.FAILED, Verdict.MET),
    ],
)
def test_dependencies(text: str, state: State, verdict: Verdict) -> None:
    start = None if state is State.PENDING else 90.0
    other = make_job(1, state=state, start_at=start, end_at=95.0 if state.is_final else None)

    assert weigh(read_dependency(text), make_job(2), make_lookup([other]), 100.0)[0] is verdict


def test_an_array_is_met_when_all_its_tasks_are() -> None:
    tasks = [
        make_job(2, array_id=1, array_index=1, state=State.COMPLETED),
        make_job(1, array_id=1, array_index=2, state=State.RUNNING, start_at=1.0),
    ]
    lookup = make_lookup(tasks)

    assert weigh(read_dependency("afterok:1"), make_job(9), lookup, 100.0)[0] is Verdict.WAITING
    assert weigh(read_dependency("afterok:1_1"), make_job(9), lookup, 100.0)[0] is Verdict.MET


def test_refuses_a_strange_dependency() -> None:
    for text in ("foo:1", "afterok:abc", "afterok", "afterok:1,afterany:2?afterany:3"):
        with pytest.raises(PocketError, match="Job dependency problem"):
            read_dependency(text)


def test_variables_are_there_only_when_asked() -> None:
    plain = make_job_environment(make_job(1), {"PATH": "/bin"}, GROUND)
    asked = make_job_environment(
        make_job(1, request=replace(REQUEST, ntasks_per_node=1, cpus_per_task=1, memory_mb=5)), {}, GROUND
    )

    hidden = {"SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_RESTART_COUNT"}
    assert not hidden & plain.keys()
    assert plain["PATH"] == "/s/bin:/bin"
    assert (asked["SLURM_NTASKS"], asked["SLURM_CPUS_PER_TASK"]) == ("1", "1")


def test_a_job_sees_its_own_gpus_only() -> None:
    job = replace(make_job(1, gpus=2), gpus=((1, 3),))
    shape = StepShape(step="0", tasks_per_node=(2,), gpus_per_task=1)

    whole = make_job_environment(job, {}, GROUND)
    second = make_task_environment(job, {}, GROUND, shape=shape, place=shape.places[1])
    none = make_job_environment(make_job(2), {}, GROUND)

    assert (whole["CUDA_VISIBLE_DEVICES"], whole["SLURM_JOB_GPUS"]) == ("1,3", "1,3")
    assert second["CUDA_VISIBLE_DEVICES"] == "3"
    assert none["CUDA_VISIBLE_DEVICES"] == ""


def test_export() -> None:
    environment = {"HOME": "/h", "SECRET": "s", "KEEP": "k"}

    assert choose("ALL,NEW=1", environment) == {**environment, "NEW": "1"}
    assert "SECRET" not in choose("NONE", environment)
    assert choose("KEEP,QUOTED='a,b'", environment).items() >= {"KEEP": "k", "QUOTED": "a,b", "HOME": "/h"}.items()
