"""`run`: plan, check, ship, submit. Exactly once: intent is written down before anything is sent."""

from collections.abc import Callable
from dataclasses import replace

from windlass.app.environments.seen import list_sources
from windlass.app.estimating import note_submission
from windlass.app.papers import NOTHING_MORE, Laid, Paper, make_papers
from windlass.app.planning import Planned
from windlass.app.session import Session
from windlass.app.shipping import Progress, ignore_progress, make_put, send_most, send_with_contents
from windlass.app.submitting import make_submissions, send_submission
from windlass.core.finding import Finding
from windlass.core.record import RunRecord, RunState
from windlass.core.run import RunSpec
from windlass.core.site import Site
from windlass.core.source.passwords import find_passwords_sent
from windlass.edges.host import Request
from windlass.edges.project_code import load_project_code
from windlass.edges.secrets import resolve_secrets
from windlass.edges.snapshot import Snapshot
from windlass.errors import CheckFailed
from windlass_job import wire


def start_run(
    session: Session,
    planned: Planned,
    *,
    force: bool = False,
    progress: Progress = ignore_progress,
    lay: Callable[[], Laid] = lambda: NOTHING_MORE,
) -> RunRecord:
    """The record of the submitted run. On a refusal nothing stays behind, on the laptop or at the site.

    lay: sends ahead what else belongs into the run folder, and says what it is.
    """
    if planned.errors and not force:
        raise make_check_failure(planned.errors)
    root = planned.facts.root or planned.site.root
    created = _make_record(session, planned)

    def send() -> RunRecord:
        missing = send_most(session.host(planned.site), root, planned.snapshot, progress)
        laid = lay()
        record = replace(created, farm=laid.farm, task_kind=laid.task_kind)
        papers = _make_files(session, planned, record)
        return send_submission(session, record, _make_prepare(planned, missing, papers, laid))

    submitted = send_with_contents(session.tell, send)
    note_submission(session, planned.plan, submitted)
    return submitted


def make_check_failure(errors: tuple[Finding, ...]) -> CheckFailed:
    return CheckFailed(
        f"{len(errors)} thing{'s' if len(errors) > 1 else ''} would go wrong",
        details=[f"{one.code}  {one.message}" + (f"\n      fix: {one.hint}" if one.hint else "") for one in errors],
        hint=f"windlass explain {errors[0].code}",
        done="nothing was sent",
    )


def refuse_passwords(site: Site, spec: RunSpec, snapshot: Snapshot) -> None:
    """Of all checks the one about the files themselves, for code that is sent without a plan."""
    sources = list_sources(spec.environment, site, snapshot.project)
    code = load_project_code(snapshot.project, snapshot.manifest, spec.command, sources)
    errors = () if site.is_local else tuple(find_passwords_sent(code, site.name))
    if errors:
        raise make_check_failure(errors)


def _make_record(session: Session, planned: Planned) -> RunRecord:
    plan, now = planned.plan, session.clock()
    return RunRecord(
        run_id=plan.run_id,
        name=planned.spec.name,
        site=plan.site,
        folder=plan.folder,
        command=plan.command,
        state=RunState.SUBMITTING,
        created=now,
        updated=now,
        project=str(planned.project),
        submissions=make_submissions(plan, now),
        links=plan.links,
        link_s=plan.link_time.total_seconds(),
        notice_s=plan.notice.total_seconds(),
        commit=planned.snapshot.commit,
        results=planned.spec.results,
        workdir=planned.spec.workdir,
        size=plan.size,
        limits=plan.limits,
    )


def _make_files(session: Session, planned: Planned, record: RunRecord) -> list[Paper]:
    about = {"branch": planned.snapshot.branch, "is_dirty": planned.snapshot.is_dirty}
    files = make_papers(record, planned.plan, planned.snapshot.manifest, about)
    if planned.snapshot.diff:
        files.append((wire.DIFF, planned.snapshot.diff, 0o600))
    secrets = resolve_secrets(planned.spec.secrets, session.environ)
    if secrets:
        files.append((wire.SECRETS, secrets, 0o600))
    return files


def _make_prepare(planned: Planned, blobs: list[str], files: list[Paper], laid: Laid) -> Request:
    root = planned.facts.root or planned.site.root
    put = make_put(root, planned.snapshot, blobs)
    arguments = {
        **put.arguments,
        **laid.arguments,
        "blobs": [*put.arguments["blobs"], *laid.blobs],
        "run_id": planned.plan.run_id,
        "manifest": planned.snapshot.manifest.as_json(),
        "files": [{"path": path, "bytes": len(content), "mode": mode} for path, content, mode in files],
    }
    payload = put.payload + laid.payload + b"".join(content for _, content, _ in files)
    return Request(operation="prepare_run", arguments=arguments, payload=payload)
