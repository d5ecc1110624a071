"""What `windlass report` would advise, by the mirror alone. Kept until gauges or state change: a day takes long."""

from dataclasses import dataclass

from windlass.advice import advise
from windlass.app.reporting import find_others, fit_to_file
from windlass.app.watching.reading_runs import RunReader, RunSeen
from windlass.app.watching.watch import Watch
from windlass.core.efficiency.usage import Usage, find_spans
from windlass.core.events import read_events
from windlass.core.finding import Advice
from windlass.core.gauges.series import RunGauges
from windlass.core.record import RunState
from windlass_job import wire

_MOST_KEPT = 8  # runs
_NOT_RUN = (RunState.SUBMITTING, RunState.WAITING, RunState.NOT_SUBMITTED)


@dataclass(frozen=True, kw_only=True)
class _Kept:
    gauges: RunGauges  # the very object that the reader of gauges keeps
    state: RunState
    advice: tuple[Advice, ...]


class AdviceReader:
    def __init__(self, watch: Watch, reader: RunReader) -> None:
        self._watch = watch
        self._reader = reader
        self._kept: dict[str, _Kept] = {}

    def load(self, seen: RunSeen, gauges: RunGauges) -> tuple[Advice, ...]:
        """Slurm's accounting, which a report asks too, is not in it."""
        record = seen.record
        if record.state in _NOT_RUN or not gauges.nodes:
            return ()
        kept = self._kept.get(record.run_id)
        if kept is None or kept.gauges is not gauges or kept.state is not record.state:
            kept = _Kept(gauges=gauges, state=record.state, advice=self._judge(seen, gauges))
            while len(self._kept) >= _MOST_KEPT and record.run_id not in self._kept:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[record.run_id] = kept
        return kept.advice

    def _judge(self, seen: RunSeen, gauges: RunGauges) -> tuple[Advice, ...]:
        record, now = seen.record, self._watch.session.clock()
        events = read_events(self._reader.read_text(record.run_id, wire.EVENTS))
        usage = Usage(
            record=record,
            now=now,
            plan=seen.plan,
            gauges=gauges,
            spans=find_spans(events, gauges, now=None if record.state.is_final else now),
            others_s=find_others(self._watch.session, record),
        )
        return fit_to_file(record, seen.plan, advise(usage))
