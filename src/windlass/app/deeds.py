"""What is done about one run where runs are shown: its verbs, each in a thread, with what became of it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from windlass.app.fetching import fetch_run
from windlass.app.resuming import resume_run
from windlass.app.session import Session
from windlass.app.whole_runs import cancel_whole
from windlass.core.record import RunRecord
from windlass.core.units import format_bytes
from windlass.edges.files import put_in_words
from windlass.errors import WindlassError

_MOST_KEPT = 100
_BUG = "it broke off by a bug of Windlass: its traceback stands where this was started from"


@dataclass(frozen=True, kw_only=True)
class Action:
    """One verb, for pages and the terminal's screen."""

    verb: str
    title: str  # of its button
    means: str  # what it does, told before it is done
    is_for: Callable[[RunRecord], bool]
    do: Callable[[Session, RunRecord], str]  # what became of it
    is_dangerous: bool = False  # it ends something


@dataclass(frozen=True, kw_only=True)
class Deed:
    number: int
    action: Action
    run_id: str
    said: str = ""
    problem: WindlassError | None = None
    is_over: bool = False


class Deeds:
    """One at a time for each run, so that a double click does nothing twice."""

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open_session = open_session
        self._deeds: dict[int, Deed] = {}
        self._lock = threading.Lock()
        self._count = 0

    def start(self, action: Action, record: RunRecord) -> Deed:
        """The one that is under way, where there is one for this run."""
        with self._lock:
            for deed in self._deeds.values():
                if deed.run_id == record.run_id and not deed.is_over:
                    return deed
            self._count += 1
            deed = self._deeds[self._count] = Deed(number=self._count, action=action, run_id=record.run_id)
            self._deeds.pop(self._count - _MOST_KEPT, None)
        threading.Thread(target=self._work, args=(deed, record), name=f"windlass-{action.verb}", daemon=True).start()
        return deed

    def find(self, number: int) -> Deed | None:
        return self._deeds.get(number)

    def _work(self, deed: Deed, record: RunRecord) -> None:
        """However it ends: one that seems to be under way would keep all others from this run."""
        ended = replace(deed, problem=WindlassError(_BUG), is_over=True)
        try:
            with self._open_session() as session:
                ended = replace(deed, said=deed.action.do(session, session.store.load(record.run_id)), is_over=True)
        except WindlassError as problem:
            ended = replace(deed, problem=problem, is_over=True)
        except OSError as problem:
            ended = replace(deed, problem=put_in_words(problem), is_over=True)
        finally:
            self._deeds[deed.number] = ended


def _cancel(session: Session, record: RunRecord) -> str:
    *_, after = cancel_whole(session, [record]) or [record]
    if record.leads_farm:
        return f"farm {record.run_id} is closed, and its jobs are cancelled."
    if after.state.is_final:
        return f"{after.run_id} {after.state.said_of_a_run}."
    return f"{after.run_id} is being cancelled, and has a moment to save."


def _resume(session: Session, record: RunRecord) -> str:
    if record.leads_farm:
        return _resume_farm(session, record)
    after = resume_run(session, record)
    return f"{after.run_id} {after.state.said_of_a_run} again, as job {after.job_id}."


def _resume_farm(session: Session, lead: RunRecord) -> str:
    from windlass.app.farms.ending import resume_farm

    started = resume_farm(session, lead)
    jobs = ", ".join(one.job_id or one.run_id for one in started)
    return f"farm {lead.run_id} is open again{f', with jobs {jobs}' if started else '; nothing of it waits'}."


def _fetch(session: Session, record: RunRecord) -> str:
    fetched = fetch_run(session, record)
    new = f"{fetched.new_files} new ({format_bytes(fetched.new_bytes)})"
    kept = f" Changed here, and kept as: {', '.join(fetched.kept)}." if fetched.kept else ""
    return f"{fetched.files} files are in {fetched.folder}, {new}.{kept}"


ACTIONS = {
    one.verb: one
    for one in (
        Action(
            verb="cancel",
            title="Cancel",
            means="takes its jobs out of the queue. What it saved stays, and Resume goes on from there.",
            is_for=lambda record: not record.state.is_final,
            do=_cancel,
            is_dangerous=True,
        ),
        Action(
            verb="resume",
            title="Resume",
            means="submits it once more in the same folder, going on from its checkpoints. It costs hours again.",
            is_for=lambda record: record.state.is_final and record.state.value != "done",
            do=_resume,
        ),
        Action(
            verb="fetch",
            title="Fetch",
            means="copies its results to this machine, every file verified.",
            is_for=lambda record: record.job_id is not None,
            do=_fetch,
        ),
    )
}
