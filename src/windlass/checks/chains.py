"""What happens when one job ends and another begins."""

from collections.abc import Iterator

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.placing.standing import find_standing

_NAME_THE_FOLDER = '[checkpoint] folder = "checkpoints", and go on from it: it is $WINDLASS_CHECKPOINT_DIR in the job'


def chain_without_checkpoints(case: Case) -> Iterator[Finding]:
    """The run is longer than one job may be, and nothing says where its checkpoints are: each link would start anew.

    The training must save into a folder that stays and go on from it when it starts again.
    """
    if case.plan.links > 1 and case.plan.checkpoint_folder is None:
        yield Finding(
            code="C204",
            severity=Severity.WARNING,
            message=f"the run needs {case.plan.links} jobs one after another, and no checkpoint folder is named",
            hint=_NAME_THE_FOLDER,
            fact="checkpoint.folder of the run file",
        )


def array_is_too_large(case: Case) -> Iterator[Finding]:
    """More links than the site's largest array index (MaxArraySize)."""
    limit = case.site.rules.max_array if case.facts.max_array is None else case.facts.max_array
    if limit is not None and case.plan.is_array and case.plan.links >= limit:
        seen = case.facts.max_array is not None
        yield Finding(
            code="C205",
            severity=Severity.ERROR,
            message=f"the run needs {case.plan.links} links; arrays here end at {max(0, limit - 1)}",
            hint='raise resources.link_time, lower resources.time, or [checkpoint] chain = "dependency"',
            fact="MaxArraySize of scontrol show config" if seen else f"rules.max_array of {case.site.name}",
            refusal="Invalid job array specification" if seen else None,
        )


def others_may_push_it_out(case: Case) -> Iterator[Finding]:
    """Jobs in this partition or QOS are stopped when others need the nodes. Without checkpoints all is lost then."""
    seen = case.facts.partition(case.plan.partition or "")
    qos = find_standing(case.plan, case.facts).qos
    by_qos = qos is not None and bool(qos.preempted_by)
    if not (by_qos or (seen is not None and seen.preempts)) or case.plan.checkpoint_folder is not None:
        return
    where = f"QOS {qos.name}" if by_qos and qos else f"partition {case.plan.partition}"
    yield Finding(
        code="C222",
        severity=Severity.WARNING,
        message=f"jobs in {where} may be pushed out by others at any time, and no checkpoint folder is named",
        hint=_NAME_THE_FOLDER,
        fact=f"sacctmgr show {where.lower()}" if by_qos else f"scontrol show {where}",
    )


def starting_again_costs_twice(case: Case) -> Iterator[Finding]:
    """The site file lets Slurm start a job again after a lost node. Without checkpoints its hours are spent twice."""
    if case.plan.requeue and case.plan.checkpoint_folder is None:
        yield Finding(
            code="C223",
            severity=Severity.ADVICE,
            message="after a lost node Slurm starts the job again from its beginning, and its hours are paid twice",
            hint="[rules] requeue = false in the site file, or " + _NAME_THE_FOLDER,
            fact=f"rules.requeue of {case.site.name}",
        )


def submitted_from_inside_a_job(case: Case) -> Iterator[Finding]:
    """Windlass was started inside a job. What it submits goes on without that job, and what it shows ends with it.

    Variables of the outer job (SLURM_*, SBATCH_*) are not passed on; modules and paths of a compute node may differ
    from those of the login node.
    """
    job = case.facts.inside_job
    if job is not None and not case.site.rules.cuts_to_fit:
        yield Finding(
            code="C224",
            severity=Severity.WARNING,
            message=f"this shell sits in job {job}; some sites refuse submissions from there",
            hint="exit, and submit from the login node",
            fact="SLURM_JOB_ID of the shell that asked",
        )
