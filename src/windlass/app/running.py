"""`run`: plan, check, ship, submit. Exactly once: intent is written down before anything is sent."""

import platform

from windlass import __version__
from windlass.app.estimating import note_submission
from windlass.app.planning import Planned
from windlass.app.session import Session
from windlass.app.shipping import Progress, ignore_progress, make_put, send_most, send_with_contents
from windlass.app.submitting import make_submissions, send_submission
from windlass.core.chain import list_submissions
from windlass.core.codec import to_json
from windlass.core.finding import Finding
from windlass.core.job import make_script
from windlass.core.record import RunRecord, RunState
from windlass.edges.host import Request
from windlass.edges.job_zip import load_task_sh, make_job_zip
from windlass.edges.secrets import resolve_secrets
from windlass.errors import CheckFailed
from windlass_job import wire


def start_run(
    session: Session, planned: Planned, *, force: bool = False, progress: Progress = ignore_progress
) -> RunRecord:
    """The record of the submitted run. On a refusal nothing stays behind, on the laptop or at the site."""
    if planned.errors and not force:
        raise make_check_failure(planned.errors)
    extra = _make_files(session, planned)
    record = _make_record(session, planned)
    root = planned.facts.root or planned.site.root

    def send() -> RunRecord:
        missing = send_most(session.host(planned.site), root, planned.snapshot, progress)
        return send_submission(session, record, _make_prepare(planned, missing, extra))

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
        submissions=make_submissions(plan),
        links=plan.links,
        link_s=plan.link_time.total_seconds(),
        notice_s=plan.notice.total_seconds(),
        commit=planned.snapshot.commit,
        results=planned.spec.results,
        workdir=planned.spec.workdir,
    )


def _make_files(session: Session, planned: Planned) -> list[tuple[str, bytes, int]]:
    """What lies in the run folder beside the code: path, content, mode."""
    record = _make_record(session, planned)
    about = {
        "schema": wire.PROTOCOL,
        "windlass": __version__,
        "laptop": platform.node(),
        "record": record,
        "branch": planned.snapshot.branch,
        "is_dirty": planned.snapshot.is_dirty,
    }
    files = [
        (wire.RUN_JSON, to_json(about), 0o644),
        (wire.PLAN_JSON, to_json(planned.plan), 0o644),
        (wire.SCRIPT.format(number=1), planned.script.encode(), 0o755),
        *(
            (wire.SCRIPT.format(number=one.number), make_script(one).encode(), 0o755)
            for one in list_submissions(planned.plan)[1:]
        ),
        (wire.JOB_ZIP, make_job_zip(), 0o755),
        (wire.TASK_SH, load_task_sh(), 0o755),
        (wire.MANIFEST, to_json(planned.snapshot.manifest), 0o644),
    ]
    if planned.snapshot.diff:
        files.append((wire.DIFF, planned.snapshot.diff, 0o600))
    secrets = resolve_secrets(planned.spec.secrets, session.environ)
    if secrets:
        files.append((wire.SECRETS, secrets, 0o600))
    return files


def _make_prepare(planned: Planned, blobs: list[str], files: list[tuple[str, bytes, int]]) -> Request:
    root = planned.facts.root or planned.site.root
    put = make_put(root, planned.snapshot, blobs)
    arguments = {
        **put.arguments,
        "run_id": planned.plan.run_id,
        "manifest": planned.snapshot.manifest.as_json(),
        "files": [{"path": path, "bytes": len(content), "mode": mode} for path, content, mode in files],
    }
    payload = put.payload + b"".join(content for _, content, _ in files)
    return Request(operation="prepare_run", arguments=arguments, payload=payload)
