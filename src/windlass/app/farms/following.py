"""Following a farm until its tasks are over, or nobody is left to run them. Stopping to follow stops nothing."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windlass.app.farms.adding import ensure_pilots_or_tell
from windlass.app.farms.asking import list_pilots
from windlass.app.farms.looking import load_status
from windlass.app.patience import PASSES
from windlass.app.session import Session
from windlass.app.watching.looking import look_at_site
from windlass.core.farm.folding import add_status
from windlass.core.farm.values import FarmStatus, leave_out_ended
from windlass.core.record import RunRecord, RunState

_PEEK_S = 2.0


@dataclass(frozen=True, kw_only=True)
class FarmSeen:
    status: FarmStatus
    pilots: tuple[RunRecord, ...]

    @property
    def live(self) -> tuple[RunRecord, ...]:
        return tuple(one for one in self.pilots if not one.state.is_final)

    @property
    def pilot_s(self) -> float | None:
        """How long the last one may run its tasks."""
        last = self.pilots[-1] if self.pilots else None
        return last.link_s - (last.notice_s or 0) if last is not None and last.link_s else None

    @property
    def is_left_alone(self) -> bool:
        """Tasks are left, and no pilot that could run them."""
        return not self.live and not self.status.is_over


def look_at_farm(session: Session, lead: RunRecord, *, ask_queue: bool = True) -> FarmSeen:
    """Slurm before the numbers: of a pilot that ended these are then the last ones."""
    if ask_queue:
        look_at_site(session, lead.site, pause_s=session.site(lead.site).rules.poll_s)
    pilots = list_pilots(session, lead)
    ended = {one.run_id for one in pilots if one.state.is_final}
    return FarmSeen(pilots=pilots, status=leave_out_ended(load_status(session, lead), ended))


def follow_farm(
    session: Session,
    lead: RunRecord,
    *,
    tell: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
    sends: bool = False,
) -> Iterator[FarmSeen]:
    """Each look; the last one is the end. sends: pilots whose time is over are followed by others."""
    pause_s = session.site(lead.site).rules.poll_s
    next_look = 0.0
    over = 0  # tasks, when pilots were sent last
    while True:
        is_due = session.clock() >= next_look
        try:
            seen = look_at_farm(session, lead, ask_queue=is_due)
            if sends and _is_worth_more(seen, over) and _send_more(session, lead, tell):
                over, next_look = seen.status.over, 0.0
                continue
        except PASSES as problem:
            tell(f"{problem.message}; trying again")
            sleep(_PEEK_S)
            continue
        if is_due:
            next_look = session.clock() + pause_s
        yield seen
        if seen.status.is_over or not seen.live:
            _keep_end(session, lead.run_id, seen.status)
            return
        sleep(min(_PEEK_S, pause_s))


def _is_worth_more(seen: FarmSeen, over: int) -> bool:
    """Only time was missing, and tasks came to their end in it."""
    is_cut = seen.is_left_alone and seen.pilots[-1].state is RunState.OUT_OF_TIME
    return is_cut and seen.status.over > over


def _send_more(session: Session, lead: RunRecord, tell: Callable[[str], None]) -> bool:
    why = "the time of its pilots is over"
    started = ensure_pilots_or_tell(session, lead, why=why, tell=tell) or []
    for one in started:
        tell(f"{why}; one more: run {one.run_id}")
    return bool(started)


def _keep_end(session: Session, run_id: str, status: FarmStatus) -> None:
    """For lists: what a pilot told last may be some tasks older."""
    known = session.store.load(run_id)
    session.store.swap([(known, add_status(known, status))])
