"""While a sweep is followed, pilots that have used up their time are followed by others, as long as they get on."""

import time
from dataclasses import dataclass

from windlass.app.farms.adding import ensure_pilots
from windlass.app.patience import PASSES, Patience
from windlass.app.sweeps.looking import SweepReader
from windlass.errors import JobFailed

_EVERY_S = 20.0
_MOST_IN_VAIN = 2


@dataclass
class PilotKeeper:
    """Looks now and then. Pilots that end again and again without a trial are not sent for ever."""

    patience: Patience
    _next: float = 0.0
    _over: int = -1  # trials that were over when pilots were sent last
    _in_vain: int = 0

    def keep(self, reader: SweepReader) -> None:
        if time.monotonic() < self._next or reader.status is None:
            return
        try:
            self._keep(reader, reader.status.over)
            self.patience.forget()
            pause_s = _EVERY_S
        except PASSES as problem:  # what runs goes on, and is followed meanwhile
            pause_s = max(_EVERY_S, self.patience.meet(problem))
        self._next = time.monotonic() + pause_s

    def _keep(self, reader: SweepReader, over: int) -> None:
        """over: trials that have ended."""
        if self._in_vain >= _MOST_IN_VAIN and over == self._over:
            raise JobFailed(
                f"pilots of {reader.record.run_id} end without a trial that has come to its end",
                hint=f"windlass explain {reader.record.run_id}",
                done=f"nothing more is sent; windlass sweep resume {reader.record.run_id} tries again",
            )
        for one in ensure_pilots(reader.session, reader.record):
            self._in_vain = self._in_vain + 1 if over == self._over else 1
            self._over = over
            reader.session.tell(f"one more pilot: run {one.run_id}")
