"""The verbs of `windlass farm` as functions on typed values. No printing.

    import windlass

    farm = windlass.farm.run((f"python3 train.py {seed}" for seed in range(100)), on="narval", farm__cpus=2)
    print(windlass.farm.wait(farm).failed, "tasks failed")

Every function takes `session=` to share one connection between calls.
"""

from collections.abc import Iterable
from pathlib import Path

from windlass.api import Run, ensure_built, find_run, make_wanted, use_session
from windlass.app.farms import adding, ending, looking, starting, steering
from windlass.app.farms.asking import find_lead
from windlass.app.farms.following import follow_farm
from windlass.app.farms.output import load_output
from windlass.app.farms.sending import pack_rows
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.session import Session
from windlass.core.farm.results import fold_results
from windlass.core.farm.rows import Task, make_row
from windlass.core.farm.values import COMMANDS, FarmStatus, TaskResult, TaskState
from windlass.core.record import RunRecord

__all__ = [
    "FarmStatus",
    "TaskResult",
    "TaskState",
    "add",
    "cancel",
    "logs",
    "results",
    "resume",
    "retry",
    "run",
    "status",
    "wait",
]


def run(
    commands: Iterable[str],
    project: str | Path = ".",
    *,
    on: str | None = None,
    session: Session | None = None,
    **settings: object,
) -> RunRecord:
    """Many commands in a few jobs; the run that leads them. What one needs: `farm__cpus=2`, `farm__retries=1`."""
    packed = pack_rows(make_row(Task(command=one)) for one in commands)
    with use_session(session) as used:
        farm = starting.plan_farm(used, make_wanted(project, on, settings), tasks=packed.count, plan=_plan)
        return starting.send_farm(used, farm, packed, kind=COMMANDS)


def _plan(session: Session, wanted: Wanted) -> Planned:
    return ensure_built(session, wanted, plan_run(session, wanted))


def add(run: Run, commands: Iterable[str], *, session: Session | None = None) -> range:
    """The numbers of the new tasks. New pilots are sent where none is left."""
    with use_session(session) as used:
        lead = find_lead(used, find_run(used, run))
        adding.refuse_closed(used, lead)
        added = adding.add_tasks(used, lead, pack_rows(make_row(Task(command=one)) for one in commands), COMMANDS)
        adding.ensure_pilots(used, lead)
        return added


def wait(run: Run, *, session: Session | None = None) -> FarmStatus:
    """Where it stands when its tasks are over, or nobody is left to run them."""
    with use_session(session) as used:
        *_, last = follow_farm(used, find_lead(used, find_run(used, run)), tell=used.tell)
        return last.status


def status(run: Run, *, session: Session | None = None) -> FarmStatus:
    """Numbers, and who works on it."""
    with use_session(session) as used:
        return looking.load_status(used, find_lead(used, find_run(used, run)))


def results(run: Run, *, session: Session | None = None) -> dict[int, TaskResult]:
    """How each task ended that has: by its number, from 0."""
    with use_session(session) as used:
        found, _ = looking.load_results(used, find_lead(used, find_run(used, run)))
        return {task: one.last for task, one in fold_results(found).items()}


def logs(run: Run, task: int, *, session: Session | None = None) -> bytes:
    """All that one task printed so far."""
    with use_session(session) as used:
        return b"".join(load_output(used, find_lead(used, find_run(used, run)), task))


def retry(run: Run, tasks: Iterable[int] | None = None, *, session: Session | None = None) -> tuple[int, ...]:
    """Those that run again: of the ones named, or of all, what has failed for good."""
    with use_session(session) as used:
        lead = find_lead(used, find_run(used, run))
        tasks = None if tasks is None else list(tasks)
        adding.refuse_closed(used, lead, tasks or ())
        again = steering.retry_failed(used, lead, tasks)
        if again:
            adding.ensure_pilots(used, lead)
        return again


def cancel(run: Run, *, session: Session | None = None) -> None:
    """No task is started any more, and what runs is given back: `resume` goes on."""
    with use_session(session) as used:
        ending.cancel_farm(used, find_lead(used, find_run(used, run)))


def resume(run: Run, *, session: Session | None = None) -> list[RunRecord]:
    """The pilots that were started; only what has not ended runs."""
    with use_session(session) as used:
        return ending.resume_farm(used, find_lead(used, find_run(used, run)))
