"""`run`: plan, check, ship, submit. Exactly once: intent is written down before anything is sent."""

import platform
from collections.abc import Mapping
from dataclasses import replace

from windlass import __version__
from windlass.app.planning import Planned
from windlass.app.session import Session
from windlass.core.codec import to_json
from windlass.core.exactly_once import Outcome
from windlass.core.finding import Finding
from windlass.core.job import make_token
from windlass.core.record import RunRecord, RunState, Submission
from windlass.edges.host import Host, Request, expect
from windlass.edges.job_zip import make_job_zip
from windlass.edges.secrets import resolve_secrets
from windlass.edges.snapshot import Snapshot
from windlass.edges.submission import Order, SubmitResult, make_submit_request, read_submit_reply
from windlass.errors import CheckFailed, ClusterRefused, SiteNotReady, SubmissionUnclear
from windlass_job import wire

_BATCH_BYTES = 8_000_000


def start_run(session: Session, planned: Planned, *, force: bool = False) -> RunRecord:
    """The record of the submitted run. On a refusal nothing stays behind, on the laptop or at the site."""
    if planned.errors and not force:
        raise make_check_failure(planned.errors)
    extra = _make_files(session, planned)
    record = _make_record(session, planned)
    host = session.host(planned.site)
    missing = _send_blobs(session, host, planned)
    session.store.save(record)
    replies = host.ask(
        [
            _make_prepare(planned, missing, extra),
            make_submit_request(make_order(record), planned.site, only_if_ok=True),
        ]
    )
    expect(replies[0], SiteNotReady, "the run folder could not be made")
    return finish_submission(session, record, read_submit_reply(replies[1]))


def make_order(record: RunRecord) -> Order:
    """The last submission of a run, as the exactly-once part wants it."""
    last = record.submissions[-1]
    others = frozenset(one.job_id for one in record.submissions[:-1] if one.job_id)
    return Order(
        folder=record.folder,
        number=last.number,
        token=last.token,
        script=f"{record.folder}/{wire.SCRIPT.format(number=last.number)}",
        created=record.created,
        first_link=last.first_link,
        other_ids=others,
    )


def finish_submission(
    session: Session, record: RunRecord, result: SubmitResult, *, before: RunRecord | None = None
) -> RunRecord:
    """What sbatch's answer means for the record; a refused resume leaves the run as it was `before`."""
    if result.outcome is Outcome.SUBMITTED and result.job_id is not None:
        record = with_job_id(replace(record, state=RunState.WAITING), result.job_id)
        session.store.save(record)
        return record
    if result.outcome is Outcome.REFUSED and result.refusal is not None:
        if before is None:
            _clean_up(session, record)
        else:
            session.store.save(replace(before, updated=session.clock()))
        raise ClusterRefused(
            f"{record.site} refused the job: {result.refusal.cause}",
            said=result.refusal.said,
            hint=result.refusal.hint,
            done="nothing was submitted",
        )
    raise SubmissionUnclear(
        f"it is not yet clear whether {record.site} took run {record.run_id}",
        said=result.refusal.said if result.refusal else None,
        hint="windlass ps --refresh",
        done="it will not be sent twice: the run's token decides",
    )


def with_job_id(record: RunRecord, job_id: str) -> RunRecord:
    last = replace(record.submissions[-1], job_id=job_id)
    return replace(record, submissions=(*record.submissions[:-1], last))


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
        submissions=(Submission(number=1, token=make_token(plan), links=plan.links),),
        links=plan.links,
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
        (wire.JOB_ZIP, make_job_zip(), 0o755),
        (wire.MANIFEST, to_json(planned.snapshot.manifest), 0o644),
    ]
    if planned.snapshot.diff:
        files.append((wire.DIFF, planned.snapshot.diff, 0o600))
    secrets = resolve_secrets(planned.spec.secrets, session.environ)
    if secrets:
        files.append((wire.SECRETS, secrets, 0o600))
    return files


def _send_blobs(session: Session, host: Host, planned: Planned) -> list[str]:
    """Sends what the site lacks, in batches; what is left for the last round trip comes back."""
    snapshot = planned.snapshot
    wanted = snapshot.manifest.hashes
    root = planned.facts.root or planned.site.root
    ask = Request(operation="missing_blobs", arguments={"root": root}, payload="\n".join(wanted).encode())
    reply = expect(host.ask([ask])[0], SiteNotReady, f"the folder {root} at {planned.site.name} cannot be used")
    missing = reply.payload.decode().split()
    sizes = {one.sha256: one.size for one in snapshot.manifest.files if one.sha256}
    batches = _make_batches(sizes, missing)
    total = sum(sizes[one] for one in missing)
    sent = 0
    for batch in batches[:-1]:
        expect(host.ask([_make_put(root, snapshot, batch)])[0], SiteNotReady, "your files could not be sent")
        sent += sum(sizes[one] for one in batch)
        session.tell(f"sent {sent / 1e6:.0f} of {total / 1e6:.0f} MB")
    return batches[-1] if batches else []


def _make_batches(sizes: Mapping[str, int], missing: list[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    room = 0
    for sha256 in missing:
        if not batches or room < sizes[sha256]:
            batches.append([])
            room = _BATCH_BYTES
        batches[-1].append(sha256)
        room -= sizes[sha256]
    return batches


def _make_put(root: str, snapshot: Snapshot, blobs: list[str]) -> Request:
    contents = [snapshot.open_blob(one) for one in blobs]
    named = [{"sha256": one, "bytes": len(content)} for one, content in zip(blobs, contents, strict=True)]
    return Request(operation="put_blobs", arguments={"root": root, "blobs": named}, payload=b"".join(contents))


def _make_prepare(planned: Planned, blobs: list[str], files: list[tuple[str, bytes, int]]) -> Request:
    root = planned.facts.root or planned.site.root
    put = _make_put(root, planned.snapshot, blobs)
    arguments = {
        **put.arguments,
        "run_id": planned.plan.run_id,
        "manifest": planned.snapshot.manifest.as_json(),
        "files": [{"path": path, "bytes": len(content), "mode": mode} for path, content, mode in files],
    }
    payload = put.payload + b"".join(content for _, content, _ in files)
    return Request(operation="prepare_run", arguments=arguments, payload=payload)


def _clean_up(session: Session, record: RunRecord) -> None:
    """A refused run leaves nothing behind; a folder that cannot be removed now is harmless."""
    root = record.folder.rsplit(f"/{wire.RUNS}/", 1)[0]
    host = session.host(session.site(record.site))
    host.ask([Request(operation="remove_run", arguments={"root": root, "run_id": record.run_id})])
    session.store.delete(record.run_id)
