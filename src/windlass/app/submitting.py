"""Sending one submission of a run, for `run` and `resume`: on record before it is sent, and sent at most once."""

from dataclasses import replace

from windlass.app.session import Session
from windlass.core.exactly_once import Outcome
from windlass.core.record import RunRecord, RunState
from windlass.edges.host import Request, expect
from windlass.edges.run_lock import hold_run, is_held
from windlass.edges.submission import Order, SubmitResult, make_submit_request, read_submit_reply, reconcile
from windlass.errors import (
    ClusterRefused,
    ConnectionLost,
    Interrupted,
    SiteNotReady,
    SubmissionUnclear,
    UsageError,
    WindlassError,
)
from windlass_job import wire

_LOCKS = "submitting"


def send_submission(
    session: Session, record: RunRecord, preparation: Request, *, before: RunRecord | None = None
) -> RunRecord:
    """The record, waiting in the queue. In one round trip: what must be there first, then sbatch.

    before: of a resume, the run as it was; after a refusal it is so again. A refused new run leaves nothing behind.
    """
    with hold_run(session.folders.state / _LOCKS, record.run_id):
        _put_on_record(session, record, before)
        try:
            result = _send(session, record, preparation, before)
            return _finish(session, record, result, before)
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped while run {record.run_id} was being submitted",
                hint="windlass ps",
                done=f"it may have been submitted: `windlass ps` finds out, `windlass cancel {record.run_id}` ends it",
            ) from None


def _put_on_record(session: Session, record: RunRecord, before: RunRecord | None) -> None:
    if before is None:
        session.store.save(record)
    elif session.store.swap([(before, record)]):
        raise UsageError(
            f"run {record.run_id} was changed by another command just now",
            hint=f"windlass ps, then windlass resume {record.run_id}",
            done="nothing was sent",
        )


def is_being_sent(session: Session, record: RunRecord) -> bool:
    """By a process on this laptop that lives: then it alone says what became of it."""
    return is_held(session.folders.state / _LOCKS, record.run_id)


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
        links=last.links,
        other_ids=others,
    )


def with_job_id(record: RunRecord, job_id: str) -> RunRecord:
    last = replace(record.submissions[-1], job_id=job_id)
    return replace(record, submissions=(*record.submissions[:-1], last))


def _send(session: Session, record: RunRecord, preparation: Request, before: RunRecord | None) -> SubmitResult:
    site, order = session.site(record.site), make_order(record)
    try:
        prepared, submitted = session.host(site).ask([preparation, make_submit_request(order, site, only_if_ok=True)])
    except ConnectionLost as lost:
        session.tell(f"{lost.message}; asking what became of run {record.run_id}")
        return _find_out(session, record, lost)
    if not prepared.ok:
        _put_back(session, record, before)
        expect(prepared, SiteNotReady, "the run folder could not be written")
    return read_submit_reply(submitted)


def _find_out(session: Session, record: RunRecord, lost: ConnectionLost) -> SubmitResult:
    try:
        result = reconcile(session.cluster(session.site(record.site)), make_order(record))
    except WindlassError as problem:
        raise _make_unclear(record, problem.message) from lost
    if result.outcome is not Outcome.NOT_SUBMITTED:
        return result
    now, reason = session.clock(), "the connection broke before Slurm was asked"
    session.store.save(replace(record, state=RunState.NOT_SUBMITTED, reason=reason, ended=now, updated=now))
    raise ConnectionLost(lost.message, said=lost.said, hint="run the same command again", done="nothing was submitted")


def _finish(session: Session, record: RunRecord, result: SubmitResult, before: RunRecord | None) -> RunRecord:
    if result.outcome is Outcome.SUBMITTED and result.job_id is not None:
        record = with_job_id(replace(record, state=RunState.WAITING, updated=session.clock()), result.job_id)
        session.store.save(record)
        return record
    if result.outcome is Outcome.REFUSED and result.refusal is not None:
        _put_back(session, record, before)
        raise ClusterRefused(
            f"{record.site} refused the job: {result.refusal.cause}",
            said=result.refusal.said,
            hint=result.refusal.hint,
            done="nothing was submitted",
        )
    raise _make_unclear(record, result.refusal.said if result.refusal else None)


def _make_unclear(record: RunRecord, said: str | None) -> SubmissionUnclear:
    return SubmissionUnclear(
        f"it is not yet clear whether {record.site} took run {record.run_id}",
        said=said,
        hint="windlass ps",
        done="it will not be sent twice: the run's token decides",
    )


def _put_back(session: Session, record: RunRecord, before: RunRecord | None) -> None:
    """As if it had never been tried; a folder that cannot be removed now is harmless."""
    host = session.host(session.site(record.site))
    if before is None:
        host.ask([Request(operation="remove_run", arguments={"root": record.root, "run_id": record.run_id})])
        session.store.delete(record.run_id)
        return
    # The next resume has the same number again, and must be allowed to try.
    place = {"folder": record.folder, "number": record.submissions[-1].number, "refused": True}
    host.ask([Request(operation="forget_intent", arguments=place)])
    session.store.save(replace(before, updated=session.clock()))
