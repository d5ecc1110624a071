"""Where a farm stands, and what became of its tasks."""

import zlib

from windlass.app.farms.asking import ask_farm
from windlass.app.session import Session
from windlass.core.farm.rows import Task, read_row
from windlass.core.farm.values import Cursor, FarmStatus, TaskResult, make_result, read_status
from windlass.core.record import RunRecord
from windlass_job.farming.packing import unpack
from windlass_job.farming.records import read_ends

START = Cursor()
_ROWS = 50_000  # that are asked for at once


def load_status(session: Session, record: RunRecord) -> FarmStatus:
    return read_status(record.run_id, ask_farm(session, record, "farm_look").values)


def load_results(session: Session, record: RunRecord, since: Cursor = START) -> tuple[list[TaskResult], Cursor]:
    """Every attempt that ended since then, in that order. Of the records only what is new is read."""
    found: list[TaskResult] = []
    while True:
        reply = ask_farm(session, record, "farm_results", {"since": dict(since.read)})
        lines, at = zlib.decompress(reply.payload), 0
        read = dict(since.read)
        for told in reply.values["workers"]:
            own = lines[at : at + told["bytes"]]
            at += told["bytes"]
            read[told["name"]] = told["to"]
            found += [
                make_result(one, worker=told["name"], node=told["host"], retries=reply.values["retries"])
                for one in read_ends(own)
            ]
        since = Cursor(read=read)
        if not reply.values["more"]:
            return sorted(found, key=lambda one: one.start + one.seconds), since


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
