"""Jobs the run is to wait for: those that ended so that it would wait for ever, and those nobody knows."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.dependency import find_impossible, find_unknown
from windlass.core.finding import Finding, Severity


def dependency_cannot_be_met(case: Case) -> Iterator[Finding]:
    """The run waits for a job to succeed that has failed, or for one to fail that has succeeded.

    Slurm takes such a job and never starts it; it stays in the queue until somebody removes it.
    """
    if case.plan.dependency is None or case.awaited is None:
        return
    for wait in find_impossible(case.plan.dependency, case.awaited):
        job = next(one for one in case.awaited if wait.job_id in (one.job_id, one.base_id, one.raw_id))
        yield Finding(
            code="C605",
            severity=Severity.ERROR,
            message=f"{wait.kind}:{wait.job_id} can never come true: job {wait.job_id} has ended: {job.state}",
            hint="leave resources.dependency out, or wait for another job (afterany waits for any end)",
            fact=f"scontrol show job {wait.job_id}",
            refusal="(DependencyNeverSatisfied)",
        )


def dependency_is_unknown(case: Case) -> Iterator[Finding]:
    """Slurm does not know the job that is to be waited for, and counts that as met: the run would start at once.

    The number may be mistyped, or the job ended some minutes ago, successfully or not.
    """
    if case.plan.dependency is None or case.awaited is None:
        return
    for job_id in find_unknown(case.plan.dependency, case.awaited):
        yield Finding(
            code="C606",
            severity=Severity.WARNING,
            message=f"job {job_id} is not known to Slurm at {case.site.name}; the run would not wait for it",
            hint=f"sacct -X -j {job_id} tells what became of it",
            fact=f"scontrol show job {job_id}",
        )
