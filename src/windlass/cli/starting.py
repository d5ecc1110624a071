"""From a wish to a job in the queue, told as it goes: for `run`, and for whatever else is a run."""

from collections.abc import Callable

from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.cli.output import Output
from windlass.cli.progress import Progress
from windlass.cli.words import format_cost, format_findings, format_size, format_time
from windlass.core.record import RunRecord
from windlass.core.units import format_bytes


def submit(
    output: Output,
    session: Session,
    wanted: Wanted,
    *,
    force: bool = False,
    check: Callable[[Planned], None] = lambda planned: None,
) -> RunRecord:
    """check: what else must hold before anything is sent; it sees the plan with its environment built."""
    planned = plan_with_environment(output, session, wanted, force=force)
    if not planned.errors or force:
        check(planned)
    if not planned.errors:
        snapshot = planned.snapshot
        output.tell(f"{'sending':<10} {len(snapshot.manifest.files)} files, {format_bytes(snapshot.total_bytes)}")
    with Progress(output, "sending") as progress:
        record = start_run(session, planned, force=force, progress=progress.update)
    output.tell(f"{'submitted':<10} run {record.run_id}, job {record.job_id} at {record.site}")
    return record


def plan_with_environment(output: Output, session: Session, wanted: Wanted, *, force: bool = False) -> Planned:
    """What would be asked for, told; its environment is built where it was not."""
    planned = plan_run(session, wanted)
    if planned.environment is not None:
        planned = _ensure_environment(output, session, wanted, planned, force=force)
    _tell_plan(output, planned)
    return planned


def _ensure_environment(output: Output, session: Session, wanted: Wanted, planned: Planned, *, force: bool) -> Planned:
    from windlass.app.environments.ensuring import ensure_environment
    from windlass.cli.env_words import BuildLines

    with BuildLines(output) as lines:
        return ensure_environment(session, wanted, planned, force=force, progress=lines.update)


def _tell_plan(output: Output, planned: Planned) -> None:
    plan, snapshot = planned.plan, planned.snapshot
    for notice in snapshot.notices:
        output.tell(f"{'note':<10} {notice}")
    for line in format_findings([one for one in planned.findings if one not in planned.errors]):
        output.tell(line)
    for reason in plan.reasons:
        if reason.is_cut:
            output.tell(f"{'note':<10} {reason.field} = {reason.value}: {reason.why}")
    output.tell(f"{'planned':<10} {format_size(plan)}, {format_time(plan)}; {format_cost(plan.cost)}")
