"""Why a run waits or ended, as `windlass explain` told it last, and the change of windlass.toml that would help."""

from dataclasses import dataclass

from windlass.app.explaining import explain_run
from windlass.app.mending import Fix, apply_seen_fix, make_fix
from windlass.app.session import Session
from windlass.app.watching.asking import ask_rarely, load_asked
from windlass.core.finding import Diagnosis
from windlass.core.record import RunRecord
from windlass.core.watching.looks import Look


@dataclass(frozen=True, kw_only=True)
class Told:
    diagnoses: tuple[Diagnosis, ...]


@dataclass(frozen=True, kw_only=True)
class Why:
    record: RunRecord
    asked: Look
    diagnoses: tuple[Diagnosis, ...] = ()
    fix: Fix | None = None  # of the first that has one; None: nothing can be written here


def load_why(session: Session, record: RunRecord) -> Why:
    """Nobody is asked."""
    subject = _name(record)
    told = session.store.kept(f"{subject}:{record.site}", kind=Told) or Told(diagnoses=())
    first = next((one for one in told.diagnoses if one.patch), None)
    fix = make_fix(record, first.patch) if first else None
    asked = load_asked(session, record.site, subject)
    return Why(record=record, asked=asked, diagnoses=told.diagnoses, fix=fix)


def ask_why(session: Session, record: RunRecord) -> Look:
    return ask_rarely(session, record.site, _name(record), lambda: Told(diagnoses=explain_run(session, record)[1]))


def write_fix(session: Session, record: RunRecord, mark: str) -> Fix:
    """mark: of the fix that somebody has seen and agreed to."""
    return apply_seen_fix(load_why(session, record).fix, mark, hint=f"windlass explain {record.run_id}")


def _name(record: RunRecord) -> str:
    return f"why:{record.run_id}"
