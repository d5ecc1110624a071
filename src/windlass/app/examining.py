"""All that a run or a job left, gathered for the diagnoses in a few round trips."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windlass.app.run_folder import (
    ask_for_list,
    ask_for_part,
    ask_for_plan,
    is_gone,
    read_names,
    read_plan,
    read_text,
)
from windlass.app.session import Session
from windlass.core.ending.symptoms import JobFacts, RankLog, Symptoms, Waiting, WaitingKind
from windlass.core.events import read_events
from windlass.core.facts import NOTHING_SEEN, Facts
from windlass.core.gauges.lines import is_node_file
from windlass.core.gauges.nodes import read_gauges
from windlass.core.gauges.series import NodeGauges
from windlass.core.record import RunRecord
from windlass.edges.cluster import Cluster
from windlass.edges.host import Completed, Host, Json, Reply, Request
from windlass.errors import WindlassError
from windlass.schedulers.slurm.fields import Fields, drop_refused
from windlass.schedulers.slurm.one_job import make_job_command
from windlass.schedulers.slurm.postmortem import (
    USAGE_FIELDS,
    make_rank_command,
    make_usage_command,
    read_job_facts,
    read_ranks_before,
    read_usage,
)
from windlass.schedulers.slurm.reasons import read_waiting
from windlass_job import wire

_HEAD_BYTES = 64_000  # warnings come at the beginning
_TAIL_BYTES = 1_000_000
_GAUGE_BYTES = 200_000
_LEAST_BYTES = 8_000  # of the beginning of one of many
_MOST_LOGS = 64  # of one job: a rank each
_MOST_NODES = 16
_FACTS_LAST_S = 86_400.0
_MOST_REFUSED = 10


def gather_run(session: Session, record: RunRecord) -> Symptoms:
    """What the site has of it; the record alone where the site or the folder is away."""
    symptoms = Symptoms(record=record, now=session.clock())
    try:
        site = session.site(record.site)
        symptoms = replace(symptoms, site=site)
        symptoms = _gather_from_site(session, symptoms)
    except WindlassError as problem:
        session.tell(f"what the run left could not be read: {problem.message}")
        symptoms = replace(symptoms, trouble="\n".join((problem.message, problem.said or "")))
    if record.nodes is None and symptoms.job is not None:  # a short job was over before it was seen to run
        symptoms = replace(symptoms, record=replace(record, nodes=symptoms.job.hosts))
    return replace(symptoms, facts=find_facts(session, symptoms))


def find_facts(session: Session, symptoms: Symptoms) -> Facts:
    """Limits change seldom: what was seen within a day is good enough here, and nothing is better than a wait."""
    if symptoms.site is None or symptoms.trouble:
        return NOTHING_SEEN
    try:
        return session.facts(symptoms.site, max_age_s=_FACTS_LAST_S)
    except WindlassError:
        return NOTHING_SEEN


def load_job(cluster: Cluster, job_id: str) -> JobFacts | None:
    """From accounting and from the controller; None when neither knows the job."""
    usage, shown = _ask_usage(cluster, job_id)
    return _join(usage, shown)


def load_logs(host: Host, paths: Sequence[str]) -> tuple[RankLog, ...]:
    """Beginnings and ends of files at the site, less of each the more there are; what cannot be read is left out."""
    count = max(1, len(paths))
    head_bytes, tail_bytes = max(_LEAST_BYTES, _HEAD_BYTES // count), max(4 * _LEAST_BYTES, _TAIL_BYTES // count)
    reads = [request for path in paths for request in (_read(path, 0, head_bytes), _read(path, -tail_bytes))]
    replies = host.ask(reads) if reads else []
    logs = []
    for at, path in enumerate(paths):
        head, tail = replies[2 * at], replies[2 * at + 1]
        if tail.ok:
            logs.append(_make_log(path, head, tail))
    return tuple(logs)


def load_texts(host: Host, paths: Sequence[str], *, limit: int) -> list[str]:
    """The beginnings of files at the site; empty for those that cannot be read."""
    return [read_text(reply) for reply in host.ask([_read(path, 0, limit) for path in paths])]


def explain_waiting(session: Session, symptoms: Symptoms) -> Waiting:
    """Why it waits, and who ranks before it; what cannot be seen is left out."""
    record, job = symptoms.record, symptoms.job
    waiting = read_waiting(record.reason)
    partition = (job.partition if job else None) or (symptoms.plan.partition if symptoms.plan else None)
    waiting = replace(
        waiting,
        since=(job.submitted if job else None) or record.created,
        nodes=(job.nodes if job else None) or (symptoms.plan.nodes if symptoms.plan else None),
    )
    if waiting.kind is WaitingKind.NEVER or symptoms.site is None or symptoms.trouble:
        return waiting
    ranks = None
    if partition and record.job_id:
        ranks = _ask_ranks(session.cluster(symptoms.site), partition, record.job_id)
    return replace(waiting, ranks_before=ranks or None)


@dataclass(frozen=True, kw_only=True)
class _Answers:
    logs: Reply
    gauges: Reply
    plan: Reply
    events: Reply
    said: Reply


def _gather_from_site(session: Session, symptoms: Symptoms) -> Symptoms:
    record = symptoms.record
    host = session.host(session.site(record.site))
    number = record.submissions[-1].number if record.submissions else 1
    answers = _Answers(
        **dict(
            zip(
                ("logs", "gauges", "plan", "events", "said"),
                host.ask(
                    [
                        ask_for_list(f"{record.folder}/{wire.LOGS}"),
                        ask_for_list(f"{record.folder}/{wire.GAUGES}"),
                        ask_for_plan(record.folder),
                        _read(f"{record.folder}/{wire.EVENTS}", -_GAUGE_BYTES),
                        _read(f"{record.folder}/{wire.SUBMISSIONS}/{number}/{wire.SUBMIT_ERR}", -_HEAD_BYTES),
                    ]
                ),
                strict=True,
            )
        )
    )
    cluster = session.cluster(symptoms.site) if symptoms.site and record.job_id else None
    return replace(
        symptoms,
        plan=read_plan(answers.plan),
        is_folder_gone=is_gone(answers.plan, answers.logs),
        events=read_events(read_text(answers.events)),
        said=read_text(answers.said),
        logs=load_logs(host, _pick_logs(record, answers.logs)),
        gauges=_load_gauges(host, record, answers.gauges),
        job=load_job(cluster, record.job_id) if cluster and record.job_id else None,
    )


def _ask_usage(cluster: Cluster, job_id: str) -> tuple[JobFacts | None, JobFacts | None]:
    """(from sacct, from scontrol); again only when this sacct does not know a field."""
    fields: Fields = USAGE_FIELDS
    for _ in range(_MOST_REFUSED):
        usage, shown = cluster.run([make_usage_command(job_id, fields), make_job_command(job_id)])
        fewer = drop_refused(fields, usage.err)
        if fewer is None:
            break
        fields = fewer
    return read_usage(usage.out, fields), read_job_facts(shown.out)


def _join(usage: JobFacts | None, shown: JobFacts | None) -> JobFacts | None:
    """sacct knows the steps, scontrol the files; the controller forgets a job within minutes."""
    if usage is None or shown is None:
        return usage or shown
    known = replace(
        shown, state=usage.state, used_memory_mb=usage.used_memory_mb, exit_code=usage.exit_code, signal=usage.signal
    )
    return replace(
        known,
        tasks=usage.tasks or shown.tasks,
        reason=usage.reason or shown.reason,
        output=shown.output or usage.output,
        script=usage.script,
    )


def _ask_ranks(cluster: Cluster, partition: str, job_id: str) -> int | None:
    done: Completed = cluster.run([make_rank_command(partition)])[0]
    return read_ranks_before(done.out, job_id) if done.exit_code == 0 else None


def _pick_logs(record: RunRecord, listed: Reply) -> list[str]:
    """Of the last job, and whatever else lies there and is as new: the newest, in the order of their names."""
    files: list[Json] = [one for one in listed.values.get("files", ()) if not one.get("link")] if listed.ok else []
    newest = max((_numbers(one["path"]) for one in files), default=())
    own = [one for one in files if _numbers(one["path"]) in (newest, ())]
    own = sorted(own, key=lambda one: float(one["mtime"]))[-_MOST_LOGS:]
    return sorted(f"{record.folder}/{wire.LOGS}/{one['path']}" for one in own)


def _load_gauges(host: Host, record: RunRecord, listed: Reply) -> tuple[NodeGauges, ...]:
    names = [name for name in read_names(listed) if is_node_file(name)][:_MOST_NODES]
    replies = host.ask([_read(f"{record.folder}/{wire.GAUGES}/{name}", -_GAUGE_BYTES) for name in names])
    read = [read_gauges(name.removesuffix(".jsonl"), read_text(it)) for name, it in zip(names, replies, strict=True)]
    return tuple(one for one in read if one is not None)


def _make_log(path: str, head: Reply, tail: Reply) -> RankLog:
    start, text = int(tail.values.get("from_byte") or 0), read_text(tail)
    if start and head.ok:
        _, newline, rest = text.partition("\n")  # the first line of the tail may be cut
        text = head.payload[:start].decode(errors="replace") + "\n" + (rest if newline else text)
    return RankLog(name=path.rpartition("/")[2], text=text, changed=float(tail.values.get("mtime") or 0))


def _numbers(path: str) -> tuple[int, ...]:
    return tuple(int(part) for part in path.split(".")[0].split("_") if part.isdigit())


def _read(path: str, start: int, limit: int = _TAIL_BYTES) -> Request:
    return ask_for_part(path, start, limit)
