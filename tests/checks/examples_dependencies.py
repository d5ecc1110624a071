"""C605 and C606: jobs the run is to wait for."""

from dataclasses import replace

from tests.builders import PLAN
from tests.checks.cases import Example, case
from windlass.core.case import Case
from windlass.core.jobs import JobSeen, JobState


def job(state: JobState, job_id: str = "45", *, array_id: str | None = None) -> JobSeen:
    return JobSeen(job_id=job_id, array_id=array_id, state=state, word=state.name)


def waiting_for(dependency: str, *jobs: JobSeen) -> Case:
    return case(plan=replace(PLAN, dependency=dependency), awaited=jobs)


FAILED, DONE, RUNNING = job(JobState.FAILED), job(JobState.DONE), job(JobState.RUNNING)

EXAMPLES: dict[str, Example] = {
    "C605": Example(
        trips=waiting_for("afterok:45", FAILED),
        passes=waiting_for("afterok:45", RUNNING),
        says="afterok:45 can never come true: job 45 has ended: failed",
        refusal="(DependencyNeverSatisfied)",
        also_trips=(
            waiting_for("afternotok:45", DONE),
            waiting_for("afterany:44,afterok:45", job(JobState.RUNNING, "44"), FAILED),
            waiting_for("afterok:44:45", job(JobState.RUNNING, "44"), job(JobState.TIMED_OUT)),
            waiting_for(
                "afterok:45", job(JobState.DONE, "45_1", array_id="45"), job(JobState.FAILED, "45_2", array_id="45")
            ),
        ),
        also_passes=(
            waiting_for("afterany:45", FAILED),
            waiting_for("afternotok:45", FAILED),
            waiting_for("after:45+5", FAILED),
            waiting_for("afterok:45?afterok:44", FAILED, job(JobState.RUNNING, "44")),
            waiting_for("singleton"),
            case(plan=replace(PLAN, dependency="afterok:45")),  # the site was not asked
        ),
    ),
    "C606": Example(
        trips=waiting_for("afterok:45"),
        passes=waiting_for("afterok:45", DONE),
        says="job 45 is not known to Slurm at alpha; the run would not wait for it",
        also_trips=(waiting_for("afterany:44:45", FAILED),),
        also_passes=(case(plan=replace(PLAN, dependency="afterok:45")), waiting_for("singleton")),
    ),
}
