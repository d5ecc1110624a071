"""Sending what a run submits, for `run` and `resume`: on record before it is sent, and each job sent at most once."""

from collections.abc import Sequence
from dataclasses import replace

from windlass.app.session import Session
from windlass.core.chain import list_submissions
from windlass.core.exactly_once import Outcome
from windlass.core.job import make_token
from windlass.core.plan import Plan
from windlass.core.record import RunRecord, RunState, Submission
from windlass.edges.cluster import Cluster
from windlass.edges.host import Reply, Request, expect
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
_NOT_KNOWN = (Outcome.UNCLEAR, Outcome.IN_FLIGHT)


def send_submission(
    session: Session, record: RunRecord, preparation: Request, *, before: RunRecord | None = None
) -> RunRecord:
    """The record, waiting in the queue. In one round trip: what must be there first, then sbatch, as often as needed.

    before: of a resume, the run as it was; after a refusal it is so again. A refused new run leaves nothing behind.
    """
    with hold_run(session.folders.state / _LOCKS, record.run_id):
        _put_on_record(session, record, before)
        try:
            results = _send(session, record, preparation, before)
            return _finish(session, record, results, before)
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


def make_submissions(plan: Plan, sent: float | None = None) -> tuple[Submission, ...]:
    """Of a plan that has not been sent yet: the first waits for nobody of ours, each later one for the one before."""
    return tuple(
        Submission(
            number=one.number,
            token=make_token(one),
            first_link=one.first_link,
            links=one.links,
            after=one.number - 1 if one.links_before else None,
            sent=sent,
        )
        for one in list_submissions(plan)
    )


def is_being_sent(session: Session, record: RunRecord) -> bool:
    """By a process on this laptop that lives: then it alone says what became of it."""
    return is_held(session.folders.state / _LOCKS, record.run_id)


def find_out(cluster: Cluster, record: RunRecord) -> tuple[SubmitResult, ...]:
    """What became of each submission of the chain that was sent last; one after another, as they were sent."""
    results: list[SubmitResult] = []
    for one in record.chain:
        known = SubmitResult(outcome=Outcome.SUBMITTED, job_id=one.job_id, existed=True)
        results.append(known if one.job_id else reconcile(cluster, _make_order(record, one)))
        record = with_job_ids(record, results)
        if results[-1].outcome in _NOT_KNOWN:
            break
    return tuple(results)


def is_known(results: Sequence[SubmitResult]) -> bool:
    return not any(one.outcome in _NOT_KNOWN for one in results)


def accept(session: Session, record: RunRecord, results: Sequence[SubmitResult]) -> RunRecord:
    """The run in the queue. Where Slurm took only the first links, it is shorter than was planned, and that is told."""
    record = with_job_ids(replace(record, state=RunState.WAITING, reason=None, updated=session.clock()), results)
    taken, planned = len(record.job_ids), len(record.chain)
    if taken == planned:
        return record
    last = [one for one in record.chain if one.job_id is not None][-1]
    refusal = next((one.refusal for one in results if one.refusal is not None), None)
    words = f"only {taken} of {planned} links were submitted" + (f": {refusal.cause}" if refusal else "")
    session.tell(f"run {record.run_id}: {words}; when they are used, windlass resume {record.run_id} goes on")
    return replace(record, links=last.first_link - 1 + last.links, interrupted=words)


def with_job_ids(record: RunRecord, results: Sequence[SubmitResult]) -> RunRecord:
    chain = list(record.chain)
    for place, result in enumerate(results):
        if result.job_id is not None:
            chain[place] = replace(chain[place], job_id=result.job_id)
    return replace(record, submissions=(*record.submissions[: -len(chain)], *chain))


def _make_order(record: RunRecord, submission: Submission) -> Order:
    """As the exactly-once part wants it."""
    return Order(
        folder=record.folder,
        number=submission.number,
        token=submission.token,
        script=f"{record.folder}/{wire.SCRIPT.format(number=submission.number)}",
        created=record.created,
        first_link=submission.first_link,
        links=submission.links,
        after=submission.after,
        other_ids=frozenset(one.job_id for one in record.submissions if one.job_id and one != submission),
    )


def _send(
    session: Session, record: RunRecord, preparation: Request, before: RunRecord | None
) -> tuple[SubmitResult, ...]:
    site = session.site(record.site)
    orders = [_make_order(record, one) for one in record.chain]
    try:
        prepared, *submitted = session.host(site).ask(
            [preparation, *(make_submit_request(order, site, only_if_ok=True) for order in orders)]
        )
    except ConnectionLost as lost:
        session.tell(f"{lost.message}; asking what became of run {record.run_id}")
        return _find_out(session, record, lost)
    if not prepared.ok:
        _put_back(session, record, before)
        expect(prepared, SiteNotReady, "the run folder could not be written")
    return (read_submit_reply(submitted[0]), *map(_read_later_reply, submitted[1:]))


def _read_later_reply(reply: Reply) -> SubmitResult:
    """An error there does not undo the links before it: what became of this one is found out with the next look."""
    try:
        return read_submit_reply(reply)
    except WindlassError:
        return SubmitResult(outcome=Outcome.UNCLEAR)


def _find_out(session: Session, record: RunRecord, lost: ConnectionLost) -> tuple[SubmitResult, ...]:
    try:
        results = find_out(session.cluster(session.site(record.site)), record)
    except WindlassError as problem:
        raise _make_unclear(record, problem.message) from lost
    if results[0].outcome is not Outcome.NOT_SUBMITTED:
        return results
    now, reason = session.clock(), "the connection broke before Slurm was asked"
    session.store.save(replace(record, state=RunState.NOT_SUBMITTED, reason=reason, ended=now, updated=now))
    raise ConnectionLost(lost.message, said=lost.said, hint="run the same command again", done="nothing was submitted")


def _finish(
    session: Session, record: RunRecord, results: Sequence[SubmitResult], before: RunRecord | None
) -> RunRecord:
    result = results[0]
    if result.outcome is Outcome.SUBMITTED and is_known(results):
        record = accept(session, record, results)
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
    place = {"folder": record.folder, "number": record.chain[0].number, "refused": True}
    host.ask([Request(operation="forget_intent", arguments=place)])
    session.store.save(replace(before, updated=session.clock()))
