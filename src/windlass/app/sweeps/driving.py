"""A search by Optuna: what trials told is told to the study, hopeless ones are ended, new ones are asked for.

Trials and tasks have the same numbers: after a crash what was asked for and not added is added, and nothing is asked
for twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from windlass.app.farms.adding import add_tasks, make_addition
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.steering import close_farm, stop_tasks
from windlass.app.patience import Patience
from windlass.app.session import Session
from windlass.app.sweeps.keeping import PilotKeeper
from windlass.app.sweeps.knowing import catch_up, open_study
from windlass.app.sweeps.looking import SweepReader, make_seen
from windlass.core.farm.values import COMMANDS
from windlass.core.record import RunRecord
from windlass.core.sweep.card import SweepCard, make_rows
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.wish import list_dimensions
from windlass.edges.study import Study
from windlass.errors import StoreError

_PAUSE_S = 5.0
_PAUSE_HERE_S = 0.5
_LATE_S = 30.0  # so long after its end the number of a trial may still come in, on file systems that cache


@dataclass(frozen=True, kw_only=True)
class _Addition:
    """Trials on their way: asked for again, they are added once."""

    name: str
    first: int
    rows: list[bytes]


@dataclass
class Driver:
    """Each step may be broken off by the connection, and is done again then."""

    session: Session
    reader: SweepReader
    study: Study
    _reported: dict[int, set[float]] = field(default_factory=dict)
    _hopeless: set[int] = field(default_factory=set)
    _stopped: set[int] = field(default_factory=set)
    _late: dict[int, float] = field(default_factory=dict)
    _addition: _Addition | None = None

    def __post_init__(self) -> None:
        self.keeper = PilotKeeper(patience=Patience(tell=self.session.tell))

    def step(self) -> tuple[tuple[Trial, ...], bool]:
        """One look, and what follows from it: all trials, and whether the search is over."""
        trials = self.reader.look()
        card = self.reader.card
        assert card is not None
        self._refuse_others(len(trials) > self.study.count)
        left = self.study.list_open()
        if card.sweep.prune is not None:
            self._report(trials, left)
            self._stop()
        self._tell(trials, left)
        if self.reader.is_given_up(trials):
            return trials, False
        self._ask(card, trials, self.study.list_open())
        is_over = self.study.count >= (card.sweep.trials or 0) and not self.study.list_open()
        if not is_over:
            self.keeper.keep(self.reader)
        return trials, is_over

    def _report(self, trials: tuple[Trial, ...], left: frozenset[int]) -> None:
        """What trials told; and which of those that run are hopeless. Judged at each step, as Optuna alone does it."""
        measures = self.reader.measures
        assert measures is not None
        for trial in trials:
            curve = measures.curves.get(trial.number)
            if trial.number not in left or trial.number in self._hopeless or curve is None:
                continue
            known = self._reported.setdefault(trial.number, set())
            for step in sorted(curve.steps.keys() - known):
                self.study.report(trial.number, step, curve.steps[step])
                known.add(step)
                if trial.state is TrialState.RUNNING and self.study.is_hopeless(trial.number):
                    self._hopeless.add(trial.number)
                    break

    def _tell(self, trials: tuple[Trial, ...], left: frozenset[int]) -> None:
        for trial in trials:
            if trial.number in left and trial.state.is_over and not self._may_come_later(trial):
                self.study.tell(trial.number, trial.state, trial.metric)

    def _may_come_later(self, trial: Trial) -> bool:
        """It ended well, and its number is not here yet."""
        if trial.state is not TrialState.DONE or trial.metric is not None:
            return False
        site = self.session.site(self.reader.record.site)
        now = time.monotonic()
        since = self._late.setdefault(trial.number, now)
        return not site.is_local and now - since < _LATE_S

    def _stop(self) -> None:
        stops = self._hopeless - self._stopped
        if stops:
            stop_tasks(self.session, self.reader.record, stops)
            self._stopped |= stops

    def _ask(self, card: SweepCard, trials: tuple[Trial, ...], left: frozenset[int]) -> None:
        """First what was asked for before a crash and never sent."""
        sweep, space = card.sweep, list_dimensions(card.sweep)
        for number in sorted(left - {one.number for one in trials}):
            self.study.complete(number, space, seed=sweep.seed or 0)
        count = min(sweep.parallel - len(left), (sweep.trials or 0) - self.study.count)
        for _ in range(count):
            self.study.ask(space)
        new = self.study.list_values()[len(trials) :]
        if new and self._addition is None:
            rows = make_rows(sweep, len(trials), new)
            self._addition = _Addition(name=make_addition(), first=len(trials), rows=rows)
        self._add()

    def _add(self) -> None:
        """By the same name where the answer did not come."""
        one = self._addition
        if one is None:
            return
        added = add_tasks(
            self.session, self.reader.record, pack_rows(one.rows), COMMANDS, name=one.name, first=one.first
        )
        self._addition = None
        self._refuse_others(added.start != one.first)

    def _refuse_others(self, is_other: bool) -> None:
        """Numbers of trials and tasks would part."""
        if is_other:
            name = self.reader.record.run_id
            raise StoreError(
                f"somebody else adds trials to {name}: they are not those of this search",
                hint=f"let one laptop search; windlass sweep resume {name}",
            )


def drive(
    session: Session,
    record: RunRecord,
    *,
    show: Callable[[SweepSeen], None],
    sleep: Callable[[float], None] = time.sleep,
) -> SweepSeen:
    """Until all trials are over: then the farm is closed, and its pilots leave. Or until it was cancelled."""
    reader, patience = SweepReader(session=session, record=record), Patience(tell=session.tell)
    trials = patience.insist(reader.look, sleep=sleep)
    assert reader.card is not None
    study = open_study(session, reader.card)
    catch_up(study, reader, trials)
    driver = Driver(session=session, reader=reader, study=study)
    pause_s = _PAUSE_HERE_S if session.site(record.site).is_local else _PAUSE_S
    while True:
        trials, is_over = patience.insist(driver.step, sleep=sleep)
        if is_over:
            patience.insist(lambda: close_farm(session, record), sleep=sleep)
        seen = make_seen(reader, trials)
        show(seen)
        if is_over or reader.is_given_up(trials):
            return seen
        sleep(pause_s)
