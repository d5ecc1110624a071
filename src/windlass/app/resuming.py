"""`resume`: one more submission of the same run, going on from its checkpoints."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from windlass.app.budgets.resuming import hold_to_limits
from windlass.app.environments.reviving import revive_environment
from windlass.app.planning import snapshot_project
from windlass.app.refreshing import refresh_site
from windlass.app.running import refuse_passwords
from windlass.app.session import Session
from windlass.app.shipping import make_put, send_most, send_with_contents
from windlass.app.submitting import make_submissions, send_submission
from windlass.core.chain import cut_into_links, list_submissions
from windlass.core.codec import from_json, to_json
from windlass.core.cost import Cost
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState
from windlass.core.spending.amounts import Amount
from windlass.edges.host import Reply, Request, expect
from windlass.edges.settings import load_run_spec
from windlass.errors import RunFolderGone, SiteNotReady, UsageError
from windlass_job import wire


def refuse_farm(record: RunRecord) -> None:
    """One of its pilots alone is not what is meant."""
    if record.farm is not None:
        raise UsageError(f"run {record.run_id} works on a farm", hint=record.again)


def resume_run(
    session: Session,
    record: RunRecord,
    *,
    time: timedelta | None = None,
    update_code: bool = False,
    exclude: str | None = None,
    budget: Amount | None = None,
) -> RunRecord:
    """The record of the run, waiting again. A run that still lives or is done is refused.

    `update_code`: the project as it is now goes over the run's files first; what the run wrote stays.
    `exclude`: nodes it must not have, besides those that were left out before.
    `budget`: all that the run may use, what it has used already included.
    """
    refuse_farm(record)
    record = refresh_site(session, record.site, [record])[0] if not record.state.is_final else record
    _refuse_unless_over(record)
    plan = make_next_plan(record, _load_plan(session, record), time)
    if exclude:
        plan = replace(plan, exclude=",".join(filter(None, (plan.exclude, exclude))))
    plan = hold_to_limits(session, record, plan, budget)
    _refuse_if_sent_by_another(session, record, plan.number)
    revive_environment(session, record, plan)
    if update_code:
        _send_code(session, record)
    earlier = (one for one in record.submissions if one.job_id is not None)
    again = replace(
        record,
        state=RunState.SUBMITTING,
        submissions=(*earlier, *make_submissions(plan, session.clock())),
        links=plan.last_link,
        link_s=plan.link_time.total_seconds(),
        limits=plan.limits,
        over_budget=None,
        stop_asked=None,
        ended=None,
        reason=None,
        exit_code=None,
        expected_end=None,
        links_needed=None,
        interrupted=None,
        updated=session.clock(),
    )
    sent = send_submission(session, again, _make_files(plan), before=record)
    session.store.note_resumed(sent.run_id)
    return sent


def make_next_plan(record: RunRecord, plan: Plan, time: timedelta | None) -> Plan:
    """The old plan with what is left of it; when its time was used up, as much again."""
    first = (record.link or 0) + 1
    if time is not None:
        links = cut_into_links(time, plan.link_limit, plan.notice)
    else:
        links = cut_into_links(plan.link_time, None, plan.notice)
        left = plan.first_link + plan.links - first
        links = replace(links, count=left if left > 0 else plan.links)
    one_link = plan.cost.one_link * (links.time / plan.link_time)
    cost = Cost(unit=plan.cost.unit, one_link=one_link, whole=one_link * links.count)
    number = max((one.number for one in record.submissions), default=0) + 1
    return replace(
        plan, number=number, first_link=first, links=links.count, link_time=links.time, cost=cost, reasons=()
    )


def _refuse_unless_over(record: RunRecord) -> None:
    if not record.state.is_final:
        raise UsageError(f"run {record.run_id} is {record.state}: there is nothing to resume yet")
    if record.state is RunState.DONE:
        raise UsageError(f"run {record.run_id} is done", hint=f"windlass fetch {record.run_id}")


def _refuse_if_sent_by_another(session: Session, record: RunRecord, number: int) -> None:
    """Another laptop may have resumed the run: its folder knows."""
    place = {"folder": record.folder, "number": number}
    reply = session.host(session.site(record.site)).ask([Request(operation="submission", arguments=place)])[0]
    if reply.ok and (reply.values.get("intent") or reply.values.get("receipt")):
        raise UsageError(
            f"run {record.run_id} has been resumed from elsewhere",
            hint=f"windlass ps --refresh --on {record.site}",
            done="nothing was sent",
        )


def _send_code(session: Session, record: RunRecord) -> None:
    project = Path(record.project or "")
    if not record.project or not project.is_dir():
        raise UsageError(f"the project of run {record.run_id} is not on this machine: {record.project}")
    spec, _ = load_run_spec(project, record.site, session.environ)
    snapshot = snapshot_project(session, project, spec)
    refuse_passwords(session.site(record.site), spec, snapshot)
    host = session.host(session.site(record.site))
    papers = ((wire.MANIFEST, to_json(snapshot.manifest)), (wire.DIFF, snapshot.diff))

    def send() -> Reply:
        put = make_put(record.root, snapshot, send_most(host, record.root, snapshot))
        arguments = {
            **put.arguments,
            "run_id": record.run_id,
            "manifest": snapshot.manifest.as_json(),
            "files": [{"path": path, "bytes": len(content), "mode": 0o600} for path, content in papers],
        }
        payload = put.payload + b"".join(content for _, content in papers)
        update = Request(operation="update_code", arguments=arguments, payload=payload, idempotent=True)
        return expect(host.ask([update])[0], SiteNotReady, "the code could not be updated")

    changed = send_with_contents(session.tell, send).values["changed"]
    names = f": {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}" if changed else ""
    session.tell(f"{len(changed)} file{'' if len(changed) == 1 else 's'} changed{names}")


def _load_plan(session: Session, record: RunRecord) -> Plan:
    host = session.host(session.site(record.site))
    path = f"{record.folder}/{wire.PLAN_JSON}"
    arguments = {"path": path, "from_byte": 0, "limit": 10_000_000}
    reply = host.ask([Request(operation="read", arguments=arguments)])[0]
    if not reply.ok:
        raise RunFolderGone(
            f"run {record.run_id} cannot be resumed: {path} is not there", hint="windlass run", done="nothing was sent"
        )
    return from_json(reply.payload, Plan, error=RunFolderGone, what=path)


def _make_files(plan: Plan) -> Request:
    contents = [
        (f"{plan.folder}/{wire.PLAN_JSON}", to_json(plan), 0o644),
        *(
            (f"{one.folder}/{wire.SCRIPT.format(number=one.number)}", make_script(one).encode(), 0o755)
            for one in list_submissions(plan)
        ),
    ]
    files = [{"path": path, "bytes": len(content), "mode": mode} for path, content, mode in contents]
    payload = b"".join(content for _, content, _ in contents)
    return Request(operation="write", arguments={"files": files}, payload=payload)
