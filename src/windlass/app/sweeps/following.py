"""A sweep whose trials are all known is watched until they are over; a search is driven."""

import time
from collections.abc import Callable
from functools import partial

from windlass.app.patience import Patience
from windlass.app.session import Session
from windlass.app.sweeps.driving import drive
from windlass.app.sweeps.keeping import PilotKeeper
from windlass.app.sweeps.looking import SweepReader, make_seen
from windlass.app.sweeps.stopping import Stopper
from windlass.core.record import RunRecord
from windlass.core.sweep.seen import SweepSeen
from windlass.edges.run_lock import HeldAlready, hold_run
from windlass.edges.sweep_files import find_folder
from windlass.errors import UsageError

_PAUSE_S = 5.0
_PAUSE_HERE_S = 1.0


def follow_sweep(
    session: Session,
    record: RunRecord,
    *,
    show: Callable[[SweepSeen], None],
    sleep: Callable[[float], None] = time.sleep,
) -> SweepSeen:
    """Until all trials are over, or it was cancelled; pilots that have used up their time are followed by others."""
    reader, patience = SweepReader(session=session, record=record), Patience(tell=session.tell)
    stopper, keeper = Stopper(), PilotKeeper(patience=Patience(tell=session.tell))
    pause_s = _PAUSE_HERE_S if session.site(record.site).is_local else _PAUSE_S
    while True:
        trials = patience.insist(reader.look, sleep=sleep)
        seen = make_seen(reader, trials)
        if seen.sweep.learns:
            return _drive_alone(session, record, show, sleep)
        show(seen)
        if seen.is_over or reader.is_given_up(trials):
            return seen
        patience.insist(partial(stopper.stop, reader, trials), sleep=sleep)
        keeper.keep(reader)
        sleep(pause_s)


def _drive_alone(
    session: Session, record: RunRecord, show: Callable[[SweepSeen], None], sleep: Callable[[float], None]
) -> SweepSeen:
    """Two who ask the same study would both add what it says."""
    try:
        with hold_run(find_folder(session.folders), record.run_id, waits=False):
            return drive(session, record, show=show, sleep=sleep)
    except HeldAlready:
        raise UsageError(
            f"another windlass on this machine drives {record.run_id}", hint=f"windlass sweep show {record.run_id}"
        ) from None
