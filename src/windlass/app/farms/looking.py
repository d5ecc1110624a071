"""Where a farm stands, and what became of its tasks."""

import zlib
from collections.abc import Iterator

from windlass.app.farms.asking import ask_farm
from windlass.app.session import Session
from windlass.core.farm.overview import Overview
from windlass.core.farm.results import FailureGroup
from windlass.core.farm.rows import Task, read_row
from windlass.core.farm.values import Cursor, FarmStatus, TaskResult, make_result, read_status
from windlass.core.record import RunRecord
from windlass_job.farming.packing import unpack
from windlass_job.farming.records import read_story

START = Cursor()
_ROWS = 50_000  # that are asked for at once


def load_status(session: Session, record: RunRecord) -> FarmStatus:
    return read_status(record.run_id, ask_farm(session, record, "farm_look").values)


def load_results(session: Session, record: RunRecord, since: Cursor = START) -> tuple[list[TaskResult], Cursor]:
    """Every attempt that ended since then, in that order. Of the records only what is new is read."""
    found: list[TaskResult] = []
    reached = since
    for some, at in stream_results(session, record, since):
        found += some
        reached = at
    return sorted(found, key=lambda one: one.start + one.seconds), reached


def stream_results(
    session: Session, record: RunRecord, since: Cursor = START
) -> Iterator[tuple[list[TaskResult], Cursor]]:
    """The same in pieces, in no order: there may be a million."""
    is_more = True
    while is_more:
        some, since, is_more = _load_some(session, record, since)
        yield some, since


def load_failures(session: Session, record: RunRecord) -> tuple[FarmStatus, tuple[FailureGroup, ...]]:
    """Where it stands, and what failed for good by what it said last."""
    overview = Overview()
    for some, _ in stream_results(session, record):
        overview.take(some)
    return load_status(session, record), overview.failures


def _load_some(session: Session, record: RunRecord, since: Cursor) -> tuple[list[TaskResult], Cursor, bool]:
    """One answer, and whether there is more."""
    reply = ask_farm(session, record, "farm_results", {"since": dict(since.read)})
    lines, at, found = zlib.decompress(reply.payload), 0, []
    read, entries = dict(since.read), dict(since.entries)
    for told in reply.values["workers"]:
        name, own = told["name"], lines[at : at + told["bytes"]]
        at += told["bytes"]
        for entry, ended in read_story(own, entries.get(name, 0)):
            entries[name] = entry
            if ended is not None:
                found.append(
                    make_result(ended, worker=name, node=told["host"], retries=reply.values["retries"], entry=entry)
                )
        read[name] = told["to"]
    return found, Cursor(read=read, entries=entries), bool(reply.values["more"])


def load_tasks(session: Session, record: RunRecord, first: int, end: int) -> list[Task]:
    """Commands and values of the tasks from first to end."""
    found: list[Task] = []
    for begin in range(first, end, _ROWS):
        reply = ask_farm(session, record, "farm_rows", {"first": begin, "end": min(end, begin + _ROWS)})
        at = 0
        for size in reply.values["bytes"]:
            found += [read_row(row) for row in unpack(reply.payload[at : at + size])]
            at += size
    return found
