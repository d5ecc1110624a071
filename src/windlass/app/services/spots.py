"""Where a run is at work just now: its job as srun names it, and its first node."""

from dataclasses import dataclass

from windlass.app.session import Session
from windlass.app.watching.looking import find_pause_s
from windlass.core.jobs import JobState
from windlass.core.record import RunRecord
from windlass.core.services.tunnels import Spot, check_host
from windlass.edges.host import Request
from windlass.errors import ServiceFailed


@dataclass(frozen=True, kw_only=True)
class _Running:
    """What the queue said last."""

    job_id: str | None


def find_spot(session: Session, record: RunRecord, port: int, *, node: str | None = None) -> Spot | None:
    """None: its job has not begun, or has not told its node yet. node: another one of its nodes."""
    job_id = find_running_job(session, record)
    where = node or (_find_node(session, record) if job_id else None)
    if job_id is None or where is None:
        return None
    return Spot(site=session.site(record.site), job_id=job_id, node=check_host(where), port=port)


def find_job(session: Session, record: RunRecord) -> str:
    """Asked at once: for a command that somebody has just given."""
    job_id = _ask(session, record)
    if job_id is None:
        raise ServiceFailed(f"run {record.run_id} has no job that runs", hint=f"windlass ps --on {record.site}")
    return job_id


def find_running_job(session: Session, record: RunRecord) -> str | None:
    """The number of the job that runs; of a task of an array its own one, which srun wants.

    For those who wait for it: the queue is asked no more often than the site wishes, by all on this laptop together.
    """
    pause_s = find_pause_s(session, session.site(record.site))
    kept = session.store.kept(_make_key(record), max_age_s=pause_s, kind=_Running)
    return kept.job_id if kept is not None else _ask(session, record)


def _make_key(record: RunRecord) -> str:
    return f"running-job:{record.run_id}:{record.link}"


def _ask(session: Session, record: RunRecord) -> str | None:
    look = session.cluster(session.site(record.site)).look(record.job_ids)
    jobs = [job for job_id in record.job_ids for job in look.by_base_id().get(job_id, ())]
    running = [job for job in jobs if job.state is JobState.RUNNING]
    job_id = (running[0].raw_id or running[0].job_id) if running else None
    session.store.keep(_make_key(record), _Running(job_id=job_id))
    return job_id


def _find_node(session: Session, record: RunRecord) -> str | None:
    """The one that the agent is on: the first, where the command was started."""
    arguments = {"folders": [record.folder]}
    host = session.host(session.site(record.site))
    [reply] = host.ask([Request(operation="statuses", arguments=arguments, idempotent=True)])
    status = (reply.values.get("statuses") or [None])[0] if reply.ok else None
    node = status.get("node") if isinstance(status, dict) else None
    return str(node) if node else None
