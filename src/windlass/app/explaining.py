"""`explain`: why a run waits or ended, or what a code means."""

from windlass.app.logs import LogReader
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.checks import CHECKS
from windlass.core.finding import Diagnosis
from windlass.core.record import RunRecord, RunState
from windlass.core.symptoms import Symptoms
from windlass.diagnoses import DIAGNOSES, diagnose
from windlass.errors import ERRORS, NotFound, WindlassError
from windlass.schedulers.slurm.words import explain_reason

_TAIL_LINES = 400


def explain_code(code: str) -> str:
    """The offline words for an error, a check or a diagnosis."""
    code = code.upper()
    kind = ERRORS.get(code) or CHECKS.get(code) or DIAGNOSES.get(code)
    if kind is None or not kind.__doc__:
        raise NotFound(f"there is no code {code}", hint="windlass explain E301")
    lines = kind.__doc__.strip().splitlines()
    return "\n".join([f"{code}: {lines[0].strip()}", *(line.strip() for line in lines[1:])]).rstrip()


def explain_run(session: Session, record: RunRecord) -> tuple[RunRecord, tuple[Diagnosis, ...]]:
    """The record of now, and why, most likely first."""
    if not record.state.is_final:
        record = refresh_site(session, record.site, [record])[0]
    if record.state in (RunState.DONE, RunState.RUNNING):
        return record, ()
    if record.state is RunState.WAITING:
        words, hint = explain_reason(record.reason)
        return record, diagnose(Symptoms(record=record, waiting_words=words, waiting_hint=hint))
    return record, diagnose(Symptoms(record=record, log_tail=_read_tail(session, record)))


def _read_tail(session: Session, record: RunRecord) -> str:
    """The last words of the newest log; empty when the site or the folder is away."""
    try:
        host = session.host(session.site(record.site))
        return LogReader(host, record).read_tail(_TAIL_LINES).decode(errors="replace")
    except WindlassError as problem:
        session.tell(f"the log could not be read: {problem.message}")
        return ""
