"""One more pilot of a farm: an ordinary run, made from the plan of the run that leads it."""

from windlass.app.papers import make_papers
from windlass.app.plans import load_plan
from windlass.app.session import Session
from windlass.app.submitting import make_submissions, send_submission
from windlass.core.farm.shaping import make_pilot_plan, resize_plan
from windlass.core.farm.sizing import PilotSize
from windlass.core.names import make_run_id
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass.core.snapshot import Manifest
from windlass.edges.host import Request
from windlass.launchers import LAUNCHERS

_NO_FILES = Manifest(files=())


def start_pilot(session: Session, lead: RunRecord, size: PilotSize | None = None) -> RunRecord:
    """Its code folder stays empty: tasks run in the lead's, so that all results lie in one place.

    size: default: that of the lead.
    """
    plan = load_plan(session, lead)
    if size is not None:
        plan = resize_plan(plan, size, session.site(lead.site).accounting)
    plan = make_pilot_plan(plan, make_run_id(lead.name, session.make_suffix()), LAUNCHERS)
    record = _make_record(session, lead, plan)
    papers = make_papers(record, plan, _NO_FILES)
    arguments = {
        "root": lead.root,
        "run_id": plan.run_id,
        "manifest": _NO_FILES.as_json(),
        "secrets_of": lead.run_id,
        "files": [{"path": path, "bytes": len(content), "mode": mode} for path, content, mode in papers],
    }
    payload = b"".join(content for _, content, _ in papers)
    return send_submission(session, record, Request(operation="prepare_run", arguments=arguments, payload=payload))


def _make_record(session: Session, lead: RunRecord, plan: Plan) -> RunRecord:
    now = session.clock()
    return RunRecord(
        run_id=plan.run_id,
        name=lead.name,
        site=lead.site,
        folder=plan.folder,
        command=plan.command,
        state=RunState.SUBMITTING,
        created=now,
        updated=now,
        project=lead.project,
        submissions=make_submissions(plan),
        links=plan.links,
        link_s=plan.link_time.total_seconds(),
        notice_s=plan.notice.total_seconds(),
        commit=lead.commit,
        size=plan.size,
        limits=plan.limits,
        farm=lead.run_id,
        task_kind=lead.task_kind,
    )
