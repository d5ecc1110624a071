"""The first page of a bundle for a support desk: what happened to a run, for somebody who knows the machine."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from windlass.core.ending.symptoms import Symptoms
from windlass.core.finding import Diagnosis
from windlass.core.plan import Plan
from windlass.core.units import format_human_duration, format_memory

_WIDTH = 14


def make_summary(
    symptoms: Symptoms,
    diagnoses: Sequence[Diagnosis],
    *,
    files: Mapping[str, str] | None = None,
    user: str | None = None,
) -> str:
    """`files`: what is in the bundle, and what each is."""
    parts = [
        _head(symptoms, user),
        _table("The job", _describe_job(symptoms)),
        _table("What it asked for", _describe_plan(symptoms.plan)) if symptoms.plan else "",
        _title("What we think happened", "\n".join(_describe_diagnoses(diagnoses)) or "unknown"),
        _title("In this bundle", "\n".join(f"{name:<28} {what}" for name, what in files.items())) if files else "",
        "Passwords, keys and tokens were replaced by ***; the file with the run's secrets is not in here.\n",
    ]
    return "\n".join(part for part in parts if part)


def make_advice(symptoms: Symptoms) -> str:
    """Where to send it."""
    site = symptoms.site
    if site is None or site.support is None:
        return "send it to the centre's support; the site file knows no address (support = ...)"
    return f"send it to: {site.support}"


def _head(symptoms: Symptoms, user: str | None) -> str:
    record = symptoms.record
    title = symptoms.site.title if symptoms.site and symptoms.site.title else record.site
    by = f" by {user}" if user else ""
    return f"Run {record.run_id}{by} at {title} {record.state.said_of_a_run}" + (
        f": {record.reason}\n" if record.reason else "\n"
    )


def _describe_job(symptoms: Symptoms) -> Iterator[tuple[str, str]]:
    record, job = symptoms.record, symptoms.job
    yield "job numbers", ", ".join(one.job_id for one in record.submissions if one.job_id) or "none: it never got one"
    yield "nodes", record.nodes or "unknown"
    if job is not None:
        code = "unknown" if job.exit_code is None and job.signal is None else f"{job.exit_code or 0}:{job.signal or 0}"
        yield "Slurm says", f"{job.state}, exit code {code}" + (f", reason {job.reason}" if job.reason else "")
    elif record.exit_code is not None:
        yield "exit code", str(record.exit_code)
    yield from _describe_times(symptoms)
    if job is not None and job.asked_memory_mb is not None:
        used = f", {job.used_memory_mb} MB seen in one task" if job.used_memory_mb is not None else ""
        yield "memory a node", f"{job.asked_memory_mb} MB asked for{used}"
    yield "folder", record.folder
    yield "command", record.command
    if record.modules:
        yield "loaded", ", ".join(record.modules)


def _describe_times(symptoms: Symptoms) -> Iterator[tuple[str, str]]:
    record = symptoms.record
    for name, moment in (("submitted", record.created), ("started", record.started), ("ended", record.ended)):
        if moment is not None:
            yield name, datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    if record.ran_for is not None:
        yield "ran for", record.ran_for.removesuffix(" of running")


def _describe_plan(plan: Plan) -> Iterator[tuple[str, str]]:
    values = {
        "account": plan.account,
        "partition": plan.partition,
        "QOS": plan.qos,
        "reservation": plan.reservation,
        "constraint": plan.constraint,
        "nodes": str(plan.nodes),
        "tasks a node": f"{plan.tasks_per_node} of {plan.cpus_per_task} CPUs",
        "GPUs a node": f"{plan.gpus_per_node} {plan.gpu_spelled or ''}".strip() if plan.gpus_per_node else None,
        "memory a node": None if plan.memory_mb is None else format_memory(plan.memory_mb) if plan.memory_mb else "all",
        "time": f"{format_human_duration(plan.link_time)}, {plan.links} link(s)",
        "modules": ", ".join(plan.modules) or None,
        "launcher": plan.launcher,
    }
    yield from ((name, value) for name, value in values.items() if value)


def _describe_diagnoses(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    for one in diagnoses:
        yield f"{one.code}  {one.message}"
        yield from (f"      | {line}" for line in one.evidence)


def _table(title: str, rows: Iterator[tuple[str, str]]) -> str:
    return _title(title, "\n".join(f"{name:<{_WIDTH}} {value}" for name, value in rows))


def _title(title: str, body: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{body}\n"
