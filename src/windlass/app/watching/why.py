"""Why a run waits or ended, as `windlass explain` told it last, and the change of windlass.toml that would help."""

import hashlib
from dataclasses import dataclass

from windlass.app.explaining import explain_run
from windlass.app.mending import Fix, apply_fix, make_fix
from windlass.app.session import Session
from windlass.app.watching.asking import ask_rarely, load_asked
from windlass.core.finding import Diagnosis
from windlass.core.record import RunRecord
from windlass.core.watching.looks import Look
from windlass.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Told:
    diagnoses: tuple[Diagnosis, ...]


@dataclass(frozen=True, kw_only=True)
class Why:
    record: RunRecord
    asked: Look
    diagnoses: tuple[Diagnosis, ...] = ()
    fix: Fix | None = None  # of the first that has one; None: nothing can be written here
    mark: str = ""  # of exactly this fix


def load_why(session: Session, record: RunRecord) -> Why:
    """Nobody is asked."""
    subject = _name(record)
    told = session.store.kept(f"{subject}:{record.site}", kind=Told) or Told(diagnoses=())
    first = next((one for one in told.diagnoses if one.patch), None)
    fix = make_fix(record, first.patch) if first else None
    asked = load_asked(session, record.site, subject)
    return Why(record=record, asked=asked, diagnoses=told.diagnoses, fix=fix, mark=_mark(fix) if fix else "")


def ask_why(session: Session, record: RunRecord) -> Look:
    return ask_rarely(session, record.site, _name(record), lambda: Told(diagnoses=explain_run(session, record)[1]))


def write_fix(session: Session, record: RunRecord, mark: str) -> Fix:
    """mark: of what somebody has seen and agreed to; anything else is refused."""
    why = load_why(session, record)
    if why.fix is None or not why.fix.diff or why.mark != mark:
        raise UsageError(
            "the change is no longer the one that was shown",
            hint=f"windlass explain {record.run_id}",
            done="windlass.toml was left as it is",
        )
    apply_fix(why.fix)
    return why.fix


def _name(record: RunRecord) -> str:
    return f"why:{record.run_id}"


def _mark(fix: Fix) -> str:
    return hashlib.sha256("\0".join((str(fix.path), fix.before, fix.after)).encode()).hexdigest()
