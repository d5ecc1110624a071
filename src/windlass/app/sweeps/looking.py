"""Where a sweep stands: its trials, what they told, how they ended. Read again and again, only what is new is asked."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from windlass.app.farms.asking import ask_farm, find_lead
from windlass.app.farms.looking import START, load_results, load_tasks
from windlass.app.session import Session
from windlass.core.farm.kinds import TaskKind
from windlass.core.farm.values import FarmStatus, TaskResult, TaskState, read_status
from windlass.core.record import RunRecord
from windlass.core.sweep.attempts import is_newer, runs_again
from windlass.core.sweep.card import SweepCard, read_card, read_values
from windlass.core.sweep.importance import NAME as OWN_MEASURE
from windlass.core.sweep.importance import measure_importance
from windlass.core.sweep.measures import MeasureReader
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.values import Value
from windlass.core.sweep.wish import Sweep
from windlass.edges.host import Request, expect
from windlass.edges.store import LATEST
from windlass.edges.sweep_files import save_seen
from windlass.errors import RunFolderGone, UsageError
from windlass_job import wire

_MOST_LOOKED_THROUGH = 1000  # runs
_MOST_AT_ONCE = 8 << 20  # bytes of one file
_STATES = {
    TaskState.DONE: TrialState.DONE,
    TaskState.STOPPED: TrialState.STOPPED,
    TaskState.TRIED: TrialState.WAITING,
}


@dataclass
class SweepReader:
    """Of one sweep. `look` asks the site; what it has read before is kept."""

    session: Session
    record: RunRecord
    card: SweepCard | None = None
    status: FarmStatus | None = None
    measures: MeasureReader | None = None
    values: list[dict[str, Value]] = field(default_factory=list)  # by the number of the trial
    _ended: dict[int, TaskResult] = field(default_factory=dict)
    _read: dict[str, int] = field(default_factory=dict)  # bytes of each file of numbers

    def __post_init__(self) -> None:
        self._cursor = START

    def look(self) -> tuple[Trial, ...]:
        """All trials. Ends before numbers: what a trial told is written before its end is."""
        told = ask_farm(self.session, self.record, "farm_look").values
        self.card = read_card(told["card"], self.record.run_id)
        self.status = read_status(self.record.run_id, told)
        ended, self._cursor = load_results(self.session, self.record, self._cursor)
        for one in ended:
            if is_newer(one, self._ended.get(one.task)):
                self._ended[one.task] = one
        tasks = load_tasks(self.session, self.record, len(self.values), self.status.total)
        self.values += [read_values(one) for one in tasks]
        if self.measures is None or self.measures.metric != self.card.sweep.metric:
            self.measures, self._read = MeasureReader(self.card.sweep.metric), {}
        self._read_measures(self.measures)
        return tuple(self._make_trials(self.status, self.measures))

    def is_given_up(self, trials: tuple[Trial, ...]) -> bool:
        """It was cancelled: no trial is started any more, and none runs."""
        is_closed = self.status is not None and self.status.is_closed
        return is_closed and not any(one.state is TrialState.RUNNING for one in trials)

    def _make_trials(self, status: FarmStatus, measures: MeasureReader) -> Iterator[Trial]:
        running = {task.task: task for one in status.pilots if one.is_alive for task in one.running}
        for number, values in enumerate(self.values):
            ended, curve = self._ended.get(number), measures.curves.get(number)
            state = TrialState.WAITING if ended is None else _STATES.get(ended.state, TrialState.FAILED)
            if number in running and runs_again(running[number], ended):
                state, ended = TrialState.RUNNING, None
            yield Trial(
                number=number,
                values=values,
                state=state,
                metric=curve.newest if curve else None,
                seconds=ended.seconds if ended else None,
                code=ended.code if ended else None,
                last_line=ended.last_line if ended else "",
            )

    def _read_measures(self, measures: MeasureReader) -> None:
        """pilots/*.met, each from where it was read to."""
        host = self.session.host(self.session.site(self.record.site))
        folder = f"{self.record.folder}/{wire.FARM}/pilots"
        while True:
            ask = Request(operation="list_files", arguments={"folder": folder, "patterns": ["*.met"]}, idempotent=True)
            listed = host.ask([ask])[0]
            if not listed.ok:
                return  # no pilot has begun
            grown = [one for one in listed.values["files"] if one["size"] > self._read.get(one["path"], 0)]
            if not grown:
                return
            asks = [
                Request(
                    operation="read",
                    arguments={
                        "path": f"{folder}/{one['path']}",
                        "from_byte": self._read.get(one["path"], 0),
                        "limit": _MOST_AT_ONCE,
                    },
                    idempotent=True,
                )
                for one in grown
            ]
            for one, reply in zip(grown, host.ask(asks), strict=True):
                expect(reply, RunFolderGone, f"the numbers of {self.record.run_id} cannot be read")
                measures.add(one["path"], reply.payload)
                self._read[one["path"]] = self._read.get(one["path"], 0) + len(reply.payload)
            if all(len(self._read) and self._read[one["path"]] >= one["size"] for one in grown):
                return


def find_sweep(session: Session, run_id: str) -> RunRecord:
    """The run whose folder holds its trials; `last` is the newest sweep, whatever was started behind it."""
    record = session.store.load(run_id)
    if run_id in LATEST and record.task_kind is not TaskKind.TRIALS:
        heads = session.store.heads(limit=_MOST_LOOKED_THROUGH)
        record = next((one for one in heads if one.task_kind is TaskKind.TRIALS), record)
    if record.farm is None:
        raise UsageError(
            f"run {record.run_id} is no sweep", hint='windlass sweep "python train.py --lr {lr}" lr=0.1,0.01 starts one'
        )
    return find_lead(session, record)


def look_at_sweep(session: Session, record: RunRecord) -> SweepSeen:
    reader = SweepReader(session=session, record=record)
    return make_seen(reader, reader.look())


def make_seen(reader: SweepReader, trials: tuple[Trial, ...]) -> SweepSeen:
    """Kept on this laptop too, for the dashboard."""
    assert reader.card is not None
    assert reader.measures is not None
    shares, measure = _measure_importance(reader.card.sweep, trials)
    seen = SweepSeen(
        sweep_id=reader.record.run_id,
        site=reader.record.site,
        sweep=reader.card.sweep,
        trials=trials,
        asked=reader.session.clock(),
        importance=tuple(sorted(shares.items(), key=lambda pair: -pair[1])),
        importance_by=measure,
        told=tuple(sorted(reader.measures.names)),
    )
    save_seen(reader.session.folders, seen)
    return seen


def _measure_importance(sweep: Sweep, trials: tuple[Trial, ...]) -> tuple[dict[str, float], str]:
    """With the measure's name: Optuna's own of a search, where this machine has it."""
    if sweep.learns:
        from windlass.edges.study_importance import measure_by_optuna  # imports the library, which takes half a second

        shares, measure = measure_by_optuna(sweep, trials)
        if shares:
            return shares, measure
    shares = measure_importance(trials)
    return shares, OWN_MEASURE if shares else ""
