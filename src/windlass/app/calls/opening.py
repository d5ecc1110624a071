"""The farm behind an executor: started with an empty table, found again by its name, and kept in jobs."""

import time
from collections.abc import Callable

from windlass.app.calls.desk import Desk, Pace
from windlass.app.calls.leaving import send_before_exit
from windlass.app.environments.ensuring import ensure_environment
from windlass.app.farms.adding import ensure_pilots, ensure_pilots_or_tell
from windlass.app.farms.asking import ask_farm, find_lead, list_pilots
from windlass.app.farms.looking import load_status
from windlass.app.farms.pilots import start_pilot
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.starting import plan_farm, send_farm
from windlass.app.farms.steering import open_farm
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.core.farm.values import CALLS, FarmNeeds
from windlass.core.record import RunRecord, RunState
from windlass.core.watching.looks import count_pause_s
from windlass.errors import PilotsGone, WindlassError

_A_NODE = 1_000_000  # more workers than any node has: one job gets all of it
_MOST_STARTS = 2  # of jobs in a row that ran nothing
_LOOK_S = 60.0  # between two looks at jobs while results come
_GROW_S = 300.0  # between two times that lost ones are replaced beside others: the next may be lost as quickly


def start_calls(
    session: Session, wanted: Wanted, *, needs: FarmNeeds, workers: int | None, pilots: int | None
) -> RunRecord:
    """Jobs that wait for calls. workers: how many calls at once; None: as many as fit on a node."""
    if workers is None and pilots is None:
        pilots = 1
    at_once = workers or _A_NODE
    plan = _plan_with_environment
    farm = plan_farm(session, wanted, tasks=at_once, needs=needs, pilots=pilots, at_once=at_once, plan=plan)
    return send_farm(session, farm, pack_rows([]), kind=CALLS)


def _plan_with_environment(session: Session, wanted: Wanted) -> Planned:
    planned = plan_run(session, wanted)
    return planned if planned.environment is None else ensure_environment(session, wanted, planned)


def find_calls(session: Session, name: str) -> tuple[RunRecord, int]:
    """The farm of that name, open for calls, and how many it has."""
    record = find_lead(session, session.store.load(name))
    values = ask_farm(session, record, "farm_calls", {"since": {}, "most": 0}).values
    if values["is_closed"]:
        open_farm(session, record)
    return record, int(values["total"])


def make_desk(session: Session, record: RunRecord, *, is_left: Callable[[], None]) -> Desk:
    """is_left: called when it has nothing to do any more."""
    pace, jobs = choose_pace(session, record.site), Jobs(session, record)
    desk = Desk(session, record, pace=pace, tend_pilots=jobs.tend, is_left=is_left)
    send_before_exit(desk)
    return desk


def choose_pace(session: Session, name: str) -> Pace:
    """Files of this very machine may be looked at as often as one likes; a login node is others' too."""
    site = session.site(name)
    pause_s = count_pause_s(site.rules.poll_s, is_ours_alone=session.is_pocket(site))
    if site.is_local:
        return Pace(gather_s=0.01, least_s=0.01, most_s=0.25, pilots_s=pause_s)
    return Pace(gather_s=0.5, least_s=pause_s, most_s=pause_s, pilots_s=pause_s)


class Jobs:
    """Sees to it that jobs run the calls that wait: as many as there were at the beginning, where they are needed."""

    def __init__(self, session: Session, record: RunRecord) -> None:
        self._session, self._record = session, record
        self._starts = 0
        self._wanted: int | None = None
        self._next_look = self._next_growth = 0.0

    def tend(self, has_news: bool) -> WindlassError | None:
        """has_news: calls have ended since the last time. An error: it is of no use to start more."""
        now = time.monotonic()
        if has_news:
            self._starts = 0
            if now < self._next_look:
                return None
        self._next_look = now + _LOOK_S
        pilots = list_pilots(self._session, self._record)
        live = [one for one in pilots if not one.state.is_final]
        fresh = refresh_site(self._session, self._record.site, live)
        count = sum(not one.state.is_final for one in fresh)
        if count:
            self._replace_lost(count, now)
            return None
        last = max((*pilots, *fresh), key=lambda one: (one.created, one.updated), default=self._record)
        if self._starts >= _MOST_STARTS:
            return PilotsGone(
                f"the jobs of {self._record.run_id} end without having run a call: the last one is {last.state}",
                hint=f"windlass explain {last.run_id}",
            )
        self._starts += last.state is not RunState.DONE
        if not ensure_pilots(self._session, self._record):
            start_pilot(self._session, self._record)
        return None

    def _replace_lost(self, live: int, now: float) -> None:
        """What is refused now harms nobody: the others go on."""
        if now < self._next_growth:
            return
        if self._wanted is None:
            self._wanted = load_status(self._session, self._record).wanted_pilots
        if live >= self._wanted:
            return
        why = f"{live} of {self._wanted} jobs are left"
        started = ensure_pilots_or_tell(self._session, self._record, why=why, tell=self._session.tell)
        if started != []:
            self._next_growth = now + _GROW_S
