"""`explain`: why a run or a job waits or ended, or what a code or a word of Slurm's means."""

from collections.abc import Mapping
from dataclasses import replace

from windlass.app.examining import explain_waiting, find_facts, gather_run, load_job, load_logs, load_texts
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.checks import CHECKS
from windlass.core.ending.symptoms import JobFacts, Symptoms
from windlass.core.finding import Diagnosis
from windlass.core.jobs import JobSeen, JobState
from windlass.core.record import RunRecord, RunState, Submission
from windlass.core.rehearsal.findings import REHEARSED
from windlass.core.sbatch.directives import reword_for_script
from windlass.diagnoses import DIAGNOSES, diagnose
from windlass.edges.host import Host
from windlass.errors import ERRORS, LoginNeeded, NotFound, UsageError, WindlassError
from windlass.schedulers.slurm.job_ids import is_job_id, read_base_id
from windlass.schedulers.slurm.one_job import make_job_command, read_jobs
from windlass.schedulers.slurm.postmortem import find_output
from windlass.schedulers.slurm.reasons import find_reason
from windlass.schedulers.slurm.words import explain_state

_SCRIPT_BYTES = 64_000
_LARGEST_SIGNAL = 64  # beyond it are Slurm's own numbers: 53 is below, and told from the job
_ENDS = {
    JobState.CANCELLED: (RunState.CANCELLED, "cancelled"),
    JobState.TIMED_OUT: (RunState.OUT_OF_TIME, "killed at the end of its time"),
    JobState.DONE: (RunState.DONE, None),
}


def explain_code(code: str) -> str:
    """The offline words for an error, a check, a diagnosis, an advice or a rule of the linter."""
    code = code.upper()
    kind = _find_all_codes().get(code)
    if kind is None or not kind.__doc__:
        raise NotFound(f"there is no code {code}: {_describe_ranges()}", hint="windlass explain --list")
    lines = kind.__doc__.strip().splitlines()
    return "\n".join([f"{code}: {lines[0].strip()}", *(line.strip() for line in lines[1:])]).rstrip()


def list_codes() -> list[tuple[str, str]]:
    """Every code with the first line of what it means."""
    found = sorted(_find_all_codes().items())
    return [(code, (kind.__doc__ or "").strip().partition("\n")[0]) for code, kind in found]


def _describe_ranges() -> str:
    return ", ".join(f"{name} are {min(codes)} to {max(codes)}" for name, codes in _find_rooms().items())


def explain_word(word: str) -> str | None:
    """The offline words for a state (`PD`, `TIMEOUT`) or a reason (`AssocMaxJobsLimit`) of Slurm's; None: neither."""
    state = explain_state(word)
    if state is not None and word.isupper():
        return f"{word}: {state}"
    reason = find_reason(word)
    if reason is None or word == "None":
        return None
    return "\n".join(
        part for part in (f"{word}: {reason.sentence}", f"try: {reason.hint}" if reason.hint else "") if part
    )


def explain_run(session: Session, record: RunRecord) -> tuple[RunRecord, tuple[Diagnosis, ...]]:
    """The record of now, and why, most likely first. A run that is done has nothing to explain."""
    symptoms = examine_run(session, record)
    return symptoms.record, diagnose(symptoms)


def examine_run(session: Session, record: RunRecord) -> Symptoms:
    """All that is known of a run just now; a site that does not answer leaves what the laptop knows."""
    if not record.state.is_final:
        try:
            record = refresh_site(session, record.site, [record])[0]
        except LoginNeeded:
            raise
        except WindlassError as problem:
            return _tell_trouble(session, record, problem)
    if record.state is RunState.DONE:
        return Symptoms(record=record, now=session.clock())
    symptoms = gather_run(session, record)
    if record.state is RunState.WAITING:
        symptoms = replace(symptoms, waiting=explain_waiting(session, symptoms))
    return symptoms


def explain_job(
    session: Session, job_id: str, *, site_name: str | None = None
) -> tuple[RunRecord, tuple[Diagnosis, ...]]:
    """As `explain_run`, for any job: of a run of ours when it is one, else by Slurm's word and its output files."""
    if not is_job_id(job_id):
        raise NotFound(f"there is no run or job {job_id!r}", hint="windlass ps --all")
    own = _find_run(session, job_id, site_name)
    if own is not None:
        return explain_run(session, own)
    if site_name is None:
        raise UsageError(f"no run of Windlass's has the job {job_id}", hint=f"windlass explain {job_id} --on SITE")
    symptoms = _examine_job(session, job_id, site_name)
    return symptoms.record, tuple(_reword(one) for one in diagnose(symptoms))


def _reword(one: Diagnosis) -> Diagnosis:
    return replace(one, hint=reword_for_script(one.hint)) if one.hint else one


def _examine_job(session: Session, job_id: str, site_name: str) -> Symptoms:
    site = session.site(site_name)
    cluster = session.cluster(site)
    seen = _find_job(session, job_id, site_name)
    facts = load_job(cluster, seen.base_id if "[" in seen.job_id else seen.job_id) or JobFacts()
    record = _make_record(seen, facts, site_name, now=session.clock())
    symptoms = Symptoms(record=record, job=facts, site=site, now=session.clock(), is_foreign=True)
    if record.state is RunState.DONE:
        return symptoms
    if record.state is RunState.WAITING:
        return replace(symptoms, waiting=explain_waiting(session, symptoms))
    facts = replace(facts, output=facts.output or _find_output(session.host(site), seen, facts))
    logs = load_logs(session.host(site), [path for path in (facts.output, facts.error) if path])
    symptoms = replace(symptoms, logs=logs, job=facts)
    return replace(symptoms, facts=find_facts(session, symptoms))


def _find_run(session: Session, job_id: str, site_name: str | None) -> RunRecord | None:
    base = read_base_id(job_id)
    runs = session.store.list(limit=None, site=site_name)
    found = [one for one in runs if base in {it.job_id for it in one.submissions}]
    if len({one.site for one in found}) > 1:
        sites = ", ".join(sorted({one.site for one in found}))
        raise UsageError(f"job {base} is at several sites: {sites}", hint=f"windlass explain {job_id} --on SITE")
    return found[0] if found else None


def _find_job(session: Session, job_id: str, site_name: str) -> JobSeen:
    """As the queue or accounting shows it; of an array without a task the one that started last."""
    cluster = session.cluster(session.site(site_name))
    base = read_base_id(job_id)
    jobs = [job for job in cluster.look([job_id]).jobs if job.base_id == base]
    if not jobs:  # somebody else's, which `squeue --me` does not show
        jobs = read_jobs(cluster.run([make_job_command(job_id)])[0].out)
    wanted = [job for job in jobs if job_id in (job.job_id, job.raw_id)] or jobs
    if not wanted:
        raise NotFound(f"{site_name} knows no job {job_id}", hint="squeue --me; sacct -X -S now-7days")
    return max(wanted, key=lambda job: (job.state is JobState.RUNNING, job.started or 0))


def _make_record(seen: JobSeen, facts: JobFacts, site: str, *, now: float) -> RunRecord:
    state, reason = _judge(seen)
    signal = seen.signal if seen.signal is not None and seen.signal <= _LARGEST_SIGNAL else None
    code = seen.exit_code or (128 + signal if signal else None)
    return RunRecord(
        run_id=seen.job_id,
        name=seen.name or "",
        site=site,
        folder=facts.workdir or "",
        command="",
        state=state,
        created=seen.submitted or now,
        updated=now,
        submissions=(Submission(number=1, token="", job_id=seen.job_id),),
        started=seen.started,
        ended=seen.ended,
        exit_code=code if state is RunState.FAILED else seen.exit_code,
        reason=reason,
        nodes=seen.nodes,
        expected_start=seen.expected_start,
    )


def _judge(seen: JobSeen) -> tuple[RunState, str | None]:
    if seen.state in _ENDS:
        return _ENDS[seen.state]
    if seen.state in (JobState.WAITING, JobState.REQUEUED):
        return RunState.WAITING, seen.reason
    if not seen.state.is_final:
        return RunState.RUNNING, None
    return RunState.FAILED, seen.state.value if seen.state is not JobState.FAILED else None


def _find_output(host: Host, seen: JobSeen, facts: JobFacts) -> str | None:
    """Where the script says, else where sbatch puts it by default: the controller forgets it within minutes."""
    if not facts.workdir:
        return None
    number = f"{seen.array_id}_{seen.task}" if seen.array_id and seen.task is not None else seen.base_id
    if facts.script:
        path = facts.script if facts.script.startswith("/") else f"{facts.workdir}/{facts.script}"
        (script,) = load_texts(host, [path], limit=_SCRIPT_BYTES)
        if output := find_output(script, facts, job_id=number, name=seen.name or ""):
            return output
    return f"{facts.workdir}/slurm-{number}.out"


def _tell_trouble(session: Session, record: RunRecord, problem: WindlassError) -> Symptoms:
    """The site's door or its Slurm is shut: a known reason is a diagnosis, any other stays the error it is."""
    trouble = "\n".join((problem.message, problem.said or ""))
    symptoms = Symptoms(record=record, trouble=trouble, now=session.clock())
    if not diagnose(symptoms):
        raise problem
    return symptoms


def _find_rooms() -> dict[str, Mapping[str, object]]:
    from windlass.advice import ADVICE
    from windlass.lint import RULES

    return {
        "errors": ERRORS,
        "checks": CHECKS,
        "diagnoses": DIAGNOSES,
        "rehearsals": REHEARSED,
        "advice": ADVICE,
        "lint": RULES,
    }


def _find_all_codes() -> dict[str, object]:
    return {code: kind for codes in _find_rooms().values() for code, kind in codes.items()}
