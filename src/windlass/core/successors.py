"""Submissions that a run made by itself, inside its job, without nodes that could not talk: taken onto the record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from windlass.core.record import RunRecord, RunState, Submission


def adopt_successors(record: RunRecord, status: Mapping[str, Any] | None) -> RunRecord:
    """The record itself where there is nothing new; else it waits for the new job, or for word of its number."""
    told = (status or {}).get("successors")
    for one in told if isinstance(told, Sequence) else ():
        made = _read(one)
        if made is not None and _is_next(record, made, one.get("replaces")):
            record = _add(record, made, (status or {}).get("reason"))
    return record


def _read(told: Any) -> Submission | None:
    if not isinstance(told, Mapping):
        return None
    number, first, links = (told.get(name) for name in ("number", "first_link", "links"))
    if not isinstance(number, int) or not isinstance(first, int) or not isinstance(links, int):
        return None
    job_id = told.get("job_id")
    is_known = isinstance(job_id, str) and job_id.isdigit()
    return Submission(
        number=number,
        token=str(told.get("token")),
        job_id=str(job_id) if is_known else None,
        first_link=first,
        links=links,
    )


def _is_next(record: RunRecord, made: Submission, replaces: object) -> bool:
    """Only after what is on record: once somebody has resumed the run, that counts."""
    known = [one.number for one in record.submissions]
    return made.number > max(known, default=0) and replaces in known[-max(1, len(record.chain)) :]


def _add(record: RunRecord, made: Submission, reason: object) -> RunRecord:
    return replace(
        record,
        submissions=(*record.submissions, made),
        state=RunState.SUBMITTING if made.job_id is None else RunState.WAITING,
        links=made.first_link - 1 + made.links,
        reason=reason if isinstance(reason, str) else None,
        nodes=None,
        expected_start=None,
    )
