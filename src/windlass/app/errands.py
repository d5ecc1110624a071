"""A short job of our own that brings one file back from a compute node. Nothing of it stays."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windlass.app.cancelling import cancel_runs
from windlass.app.following import follow
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.removing import remove_run
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.core.toml.layers import Flag
from windlass.edges.host import Request
from windlass.errors import Interrupted, WindlassError
from windlass_job import wire


def send_errand(session: Session, site_name: str, flags: tuple[Flag, ...]) -> tuple[Planned, RunRecord]:
    """Into the queue. flags: the whole run; it needs no files, because our own zip is in every run folder."""
    with _empty_project() as project:
        planned = plan_run(session, Wanted(project=project, site=site_name, flags=flags))
        return planned, _start(session, planned)


def await_errand(session: Session, record: RunRecord, answer: str, *, wait_s: float) -> tuple[RunRecord, bytes | None]:
    """The file it left in its working folder; None: it left none, or waited longer than that. The run is removed."""
    try:
        record = _wait(session, record, wait_s)
        return record, _load(session, record, answer)
    finally:
        _clean_up(session, record)


def _start(session: Session, planned: Planned) -> RunRecord:
    """A stop in the midst of it leaves a run that may have been submitted: it is settled and taken back."""
    try:
        return start_run(session, planned)
    except (KeyboardInterrupt, Interrupted):
        _clean_up(session, session.store.load(planned.plan.run_id))
        raise


@contextmanager
def _empty_project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="windlass-errand-") as folder:
        yield Path(folder)


def _wait(session: Session, record: RunRecord, wait_s: float) -> RunRecord:
    """Until it ended or the patience did."""
    deadline = session.clock() + wait_s

    def sleep(seconds: float) -> None:
        if session.clock() > deadline:
            raise _OutOfPatience
        time.sleep(seconds)

    try:
        for update in follow(session, record, sleep=sleep):
            record = update.record or record
    except _OutOfPatience:
        session.tell("it has waited long enough")
    return record


class _OutOfPatience(Exception):
    """Ends the following from inside."""


def _load(session: Session, record: RunRecord, answer: str) -> bytes | None:
    path = f"{record.folder}/{wire.CODE}/{answer}"
    host = session.host(session.site(record.site))
    reply = host.ask([Request(operation="read", arguments={"path": path, "from_byte": 0})])[0]
    return reply.payload if reply.ok else None


def _clean_up(session: Session, record: RunRecord) -> None:
    """Nothing of it stays, also after Ctrl-C; what cannot be removed is told."""
    try:
        record = cancel_runs(session, [record])[0]
        remove_run(session, record)
    except WindlassError as problem:
        session.tell(f"the test job could not be removed: {problem.message}; later: windlass rm {record.run_id}")
