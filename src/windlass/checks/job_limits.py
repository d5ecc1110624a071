"""How many jobs, and how much for one job: the limits of accounts and QOS."""

from collections.abc import Iterator, Mapping

from windlass.core.case import Case
from windlass.core.finding import Finding, Severity
from windlass.core.placing.standing import (
    Holder,
    Over,
    count_queued,
    count_resources,
    find_over,
    find_standing,
    format_amount,
)

_MANY_LINKS = 100
# Slurm's words after `AssocMax`, `QOSMax`, `QOSMin`, `AssocGrp` and `QOSGrp`.
_PER_JOB = {
    "Assoc": {"cpu": "CpuPerJobLimit", "node": "NodePerJobLimit", "mem": "MemPerJob", "gres": "GRESPerJob"},
    "QOS": {"cpu": "CpuPerJobLimit", "node": "NodePerJobLimit", "mem": "MemoryPerJob", "gres": "GRESPerJob"},
}
_PER_USER = {"cpu": "CpuPerUserLimit", "node": "NodePerUserLimit", "mem": "MemoryPerUser", "gres": "GRESPerUser"}
_AT_LEAST = {"cpu": "CpuNotSatisfied", "node": "Node", "mem": "Memory", "gres": "GRES"}
_AT_ONCE = {"cpu": "CpuLimit", "node": "NodeLimit", "mem": "MemLimit", "gres": "GRES"}
_SUBMITTED = {"Assoc": "AssocMaxSubmitJobLimit", "QOS": "QOSMaxSubmitJobPerUserLimit"}
_FEWER = "wait for some to end, or ask for fewer links: resources.time"
_RUNNING = {"Assoc": "AssocMaxJobsLimit", "QOS": "QOSMaxJobsPerUserLimit"}


def too_many_jobs(case: Case) -> Iterator[Finding]:
    """Sites limit how many jobs you may have submitted; every link counts, unless all are starts of one job.

    Slurm counts the jobs of one account or QOS. Where only the number of all your jobs was seen, the finding is a
    warning.
    """
    holder = find_standing(case.plan, case.facts).first(lambda one: one.max_submit)
    rule, links = case.site.rules.max_submitted, case.plan.jobs
    if holder is not None and holder.max_submit is not None:
        queued, is_exact = count_queued(case.facts, holder)
        if queued + links > holder.max_submit:
            certain = is_exact or links > holder.max_submit
            yield Finding(
                code="C104",
                severity=Severity.ERROR if certain else Severity.WARNING,
                message=_tell_submitted(holder.max_submit, holder.whose, queued, links),
                hint=_FEWER,
                fact=holder.fact,
                refusal=_SUBMITTED[holder.prefix] if certain else None,
            )
            return
    queued = case.facts.jobs_in_queue or 0
    if rule is not None and queued + links > rule:
        yield Finding(
            code="C104",
            severity=Severity.ERROR,
            message=_tell_submitted(rule, case.site.name, queued, links),
            hint=_FEWER,
            fact=f"rules.max_submitted of {case.site.name}",
        )


def running_jobs_wait_for_each_other(case: Case) -> Iterator[Finding]:
    """Only so many jobs of yours run at once; the others wait, however free the machine is."""
    holder = find_standing(case.plan, case.facts).first(lambda one: one.max_jobs)
    if holder is None or holder.max_jobs is None:
        return
    queued, _ = count_queued(case.facts, holder)
    if queued < holder.max_jobs:
        return
    never = holder.max_jobs == 0
    yield Finding(
        code="C110",
        severity=Severity.ERROR if never else Severity.ADVICE,
        message=f"{holder.whose} runs no job"
        if never
        else f"{holder.whose} runs {_count(holder.max_jobs, 'job')} of yours at once, and "
        f"{queued} {'are' if queued > 1 else 'is'} in the queue already: this one may wait",
        hint="--qos NAME or --account NAME: `windlass site show` lists yours",
        fact=holder.fact,
        refusal=f"({_RUNNING[holder.prefix]})" if never else None,
    )


def very_many_links(case: Case) -> Iterator[Finding]:
    """A chain is one submission, and yet each link is a job of its own: hundreds of them are a burden to the site."""
    if case.plan.jobs > _MANY_LINKS:
        yield Finding(
            code="C111",
            severity=Severity.ADVICE,
            message=f"the run is cut into {case.plan.links} jobs; more than {_MANY_LINKS} of one user are unwelcome",
            hint="raise resources.link_time, or lower resources.time and resume when it is needed",
            fact="the links of the plan",
        )


def more_than_one_job_may_have(case: Case) -> Iterator[Finding]:
    """One job asks for more CPUs, GPUs, memory or nodes than its account or QOS gives to a job (MaxTRES)."""
    standing = find_standing(case.plan, case.facts)
    for over in find_over(standing, case.plan, lambda one: one.max_per_job):
        word = f"{over.holder.prefix}Max{_PER_JOB[over.holder.prefix][over.resource]}"
        yield _tell_over("C112", over, "one job", standing.format_refusal(word))


def more_than_one_user_may_have(case: Case) -> Iterator[Finding]:
    """One job alone asks for more than its QOS gives to all jobs of a user together (MaxTRESPerUser)."""
    standing = find_standing(case.plan, case.facts)
    limits = {f"QOS {one.name}": one.max_per_user for one in (standing.partition_qos, standing.qos) if one is not None}

    def per_user(holder: Holder) -> Mapping[str, int]:
        return limits.get(holder.whose, {})

    for over in find_over(standing, case.plan, per_user):
        yield _tell_over("C113", over, "one user", standing.format_refusal(f"QOSMax{_PER_USER[over.resource]}"))


def more_than_the_group_may_have(case: Case) -> Iterator[Finding]:
    """One job alone asks for more than all jobs of its account or QOS may have together (GrpTRES)."""
    standing = find_standing(case.plan, case.facts)
    for over in find_over(standing, case.plan, lambda one: one.group_at_once):
        word = f"{over.holder.prefix}Grp{_AT_ONCE[over.resource]}"
        yield _tell_over("C114", over, "all its jobs together", standing.format_refusal(word))


def less_than_the_qos_wants(case: Case) -> Iterator[Finding]:
    """The QOS is for larger jobs: it wants at least so many GPUs, CPUs or nodes in each (MinTRES)."""
    standing = find_standing(case.plan, case.facts)
    asked = count_resources(case.plan)
    known = {"cpu", "node", "gres/gpu", "mem"} - ({"mem"} if case.plan.memory_mb in (None, 0) else set())
    for qos in (standing.partition_qos, standing.qos):
        for name, least in sorted(qos.min_per_job.items()) if qos is not None else ():
            if name in known and asked.get(name, 0) < least:
                yield Finding(
                    code="C115",
                    severity=Severity.ERROR,
                    message=f"the job asks for {format_amount(name, asked.get(name, 0))}; "
                    f"QOS {qos.name if qos else ''} wants at least {format_amount(name, least)} in each",
                    hint="--qos NAME: another one, or ask for more",
                    fact=f"sacctmgr show qos {qos.name if qos else ''}",
                    refusal=standing.format_refusal(f"QOSMin{_AT_LEAST[name.partition('/')[0]]}"),
                )


def _tell_submitted(limit: int, whose: str, queued: int, links: int) -> str:
    return f"you may have {_count(limit, 'job')} submitted with {whose}; {queued} are, and this run needs {links}"


def _tell_over(code: str, over: Over, to_whom: str, refusal: str) -> Finding:
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=f"the job asks for {format_amount(over.name, over.asked)}; "
        f"{over.holder.whose} gives {to_whom} at most {format_amount(over.name, over.limit)}",
        hint=_FIXES[over.resource].format(limit=over.limit),
        fact=over.holder.fact,
        refusal=refusal,
    )


_FIXES = {
    "cpu": "[resources] cpus: at most {limit} in all tasks together, or another --qos or --account",
    "node": "[resources] nodes = {limit}",
    "mem": '[resources] memory: at most "{limit}M" on all nodes together, or another --qos or --account',
    "gres": "[resources] gpus = {limit}",
}


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
