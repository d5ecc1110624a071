"""`note`: a word about a run, kept with it at the site and here."""

from dataclasses import dataclass, replace

from windlass.app.session import Session
from windlass.core.notes import Note, format_lines, make_note, merge_notes
from windlass.core.record import RunRecord
from windlass.edges.host import Request
from windlass.errors import WindlassError


@dataclass(frozen=True, kw_only=True)
class Noted:
    record: RunRecord
    note: Note
    problem: str | None = None  # why it is not in the run folder: it is kept here all the same


def add_note(session: Session, word: str, text: str) -> Noted:
    """Here first: the folder may be purged, and the site may not answer."""
    note = make_note(text, session.clock())
    record = _keep(session, word, note)
    return Noted(record=record, note=note, problem=_send(session, record, note))


def _keep(session: Session, word: str, note: Note) -> RunRecord:
    """Again, where somebody has just judged the run anew."""
    while True:
        record = session.store.load(word)
        fresh = replace(record, notes=merge_notes(record.notes, [note]))
        if not session.store.swap([(record, fresh)]):
            return fresh


def _send(session: Session, record: RunRecord, note: Note) -> str | None:
    arguments = {"folder": record.folder, "lines": format_lines([note])}
    try:
        host = session.host(session.site(record.site))
        reply = host.ask([Request(operation="add_notes", arguments=arguments, idempotent=True)])[0]
    except WindlassError as problem:
        return problem.message
    return None if reply.ok else reply.problem
