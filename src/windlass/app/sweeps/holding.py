"""One windlass of this laptop changes a sweep or drives its search; the others wait, or are refused."""

from collections.abc import Iterator
from contextlib import contextmanager

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.run_lock import HeldAlready, hold_run
from windlass.edges.sweep_files import find_folder
from windlass.errors import UsageError


@contextmanager
def hold_sweep(session: Session, record: RunRecord, *, waits: bool) -> Iterator[None]:
    """waits: until another has changed it. Who drives a search does so for hours: nobody waits for that."""
    try:
        with hold_run(find_folder(session.folders), record.run_id, waits=waits):
            yield
    except HeldAlready:
        raise UsageError(
            f"another windlass on this machine drives {record.run_id}",
            hint=f"windlass sweep show {record.run_id}",
            done="nothing was changed",
        ) from None
