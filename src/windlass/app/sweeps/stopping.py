"""Hopeless trials of a sweep whose trials are all known are ended, so that their places are free for the next."""

from dataclasses import dataclass, field

from windlass.app.farms.steering import stop_tasks
from windlass.app.sweeps.looking import SweepReader
from windlass.core.sweep.pruning import find_hopeless
from windlass.core.sweep.trials import Trial


@dataclass
class Stopper:
    """Of one sweep."""

    _stopped: set[int] = field(default_factory=set)

    def stop(self, reader: SweepReader, trials: tuple[Trial, ...]) -> None:
        """May be done again where the connection broke."""
        assert reader.card is not None
        assert reader.measures is not None
        if reader.card.sweep.prune is None:
            return
        curves = {number: one.steps for number, one in reader.measures.curves.items()}
        new = set(find_hopeless(trials, curves, reader.card.sweep.goal)) - self._stopped
        if new:
            stop_tasks(reader.session, reader.record, new)
            self._stopped |= new
