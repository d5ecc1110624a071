"""A sweep whose trials are all known is watched until they are over; a search is driven."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

from windlass.app.patience import Patience
from windlass.app.session import Session
from windlass.app.sweeps.driving import drive
from windlass.app.sweeps.holding import hold_sweep
from windlass.app.sweeps.keeping import PilotKeeper
from windlass.app.sweeps.looking import SweepReader, make_seen
from windlass.app.sweeps.stopping import Stopper
from windlass.core.record import RunRecord
from windlass.core.sweep.seen import SweepSeen

_PAUSE_S = 5.0
_PAUSE_HERE_S = 1.0


def follow_sweep(
    session: Session,
    record: RunRecord,
    *,
    show: Callable[[SweepSeen], None],
    sleep: Callable[[float], None] = time.sleep,
    is_held: bool = False,
) -> SweepSeen:
    """Until all trials are over, or it was cancelled; pilots that have used up their time are followed by others.

    is_held: whoever calls holds a search already, as `resuming` does.
    """
    reader, patience = SweepReader(session=session, record=record), Patience(tell=session.tell)
    stopper, keeper = Stopper(), PilotKeeper(patience=Patience(tell=session.tell))
    pause_s = _PAUSE_HERE_S if session.site(record.site).is_local else _PAUSE_S
    while True:
        trials = patience.insist(reader.look, sleep=sleep)
        seen = make_seen(reader, trials)
        if seen.sweep.learns:
            # Two who ask the same study would both add what it says.
            with nullcontext() if is_held else hold_sweep(session, record, waits=False):
                return drive(session, record, show=show, sleep=sleep)
        show(seen)
        if seen.is_over or reader.is_given_up(trials):
            return seen
        patience.insist(partial(stopper.stop, reader, trials), sleep=sleep)
        keeper.keep(reader)
        sleep(pause_s)
