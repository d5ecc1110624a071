"""An Optuna study of one sweep: trials are asked for and told by their numbers, and kept in a journal file.

The journal is a plain file that is only appended to; SQLite would be damaged on a shared file system.
"""

import math
import pickle
import random
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from windlass.core.sweep.drawing import draw
from windlass.core.sweep.space import Dimension, Kind
from windlass.core.sweep.trials import Trial, TrialState
from windlass.core.sweep.values import Value
from windlass.core.sweep.wish import Goal, Pruner, Sampler, Sweep
from windlass.edges.extras import make_extra_hint, make_library_hint
from windlass.edges.files import explain, make_private_folder, save_file
from windlass.errors import ExtraMissing, StoreError, UsageError


class Study:
    """Opened again it goes on: what was asked stays asked."""

    def __init__(self, path: Path, name: str, sweep: Sweep, *, memory: Path) -> None:
        """memory: a file of the user's alone, in which the sampler is kept: opened again it draws on, not anew."""
        self._optuna = import_optuna()
        self._memory = memory
        make_private_folder(memory.parent)
        make_private_folder(path.parent)
        mend_journal(path)
        self._sweep = sweep
        journal = self._optuna.storages.journal
        self._storage = self._optuna.storages.JournalStorage(journal.JournalFileBackend(str(path)))
        direction = "minimize" if sweep.goal is Goal.MIN else "maximize"
        try:
            self._study = self._optuna.create_study(
                storage=self._storage, study_name=name, direction=direction, load_if_exists=True,
                pruner=self._make_pruner(sweep),
            )  # fmt: skip
        except (KeyError, ValueError) as problem:
            raise StoreError(f"{path} is no journal of a study: {problem}", hint="--study ANOTHER_FILE") from problem
        self._id = self._storage.get_study_id_from_name(name)
        self._study.sampler = self._load_sampler(sweep, self.count)

    @property
    def count(self) -> int:
        """Of all trials that were ever asked for."""
        return int(self._storage.get_n_trials(self._id))

    def ask(self, space: Sequence[Dimension]) -> tuple[int, dict[str, Value]]:
        try:
            trial = self._study.ask({one.name: make_distribution(self._optuna, one) for one in space})
        except ValueError as problem:
            raise UsageError(
                f"Optuna cannot go on with these values: {problem}",
                hint="a range may change, a list of values may not: begin another sweep",
            ) from problem
        save_file(self._memory, pickle.dumps((sweep_key(self._sweep), int(trial.number) + 1, self._study.sampler)))
        return int(trial.number), dict(trial.params)

    def complete(self, number: int, space: Sequence[Dimension], *, seed: int) -> None:
        """A crash between two of a trial's values leaves it with some of them: the others are drawn."""
        trial_id = self._find(number)
        missing = [one for one in space if one.name not in self._storage.get_trial(trial_id).params]
        for name, value in draw(missing, seed=seed, trial=number).items():
            distribution = next(make_distribution(self._optuna, one) for one in missing if one.name == name)
            self._storage.set_trial_param(trial_id, name, distribution.to_internal_repr(value), distribution)

    def add(self, trial: Trial, space: Sequence[Dimension], steps: Mapping[float, float]) -> None:
        """One that was asked for elsewhere, with the next number. steps: what it told; how it ended is told later."""
        found = {one.name: make_distribution(self._optuna, widen(one, trial.values[one.name])) for one in space}
        running = self._optuna.trial.TrialState.RUNNING
        self._study.add_trial(
            self._optuna.trial.create_trial(state=running, params=dict(trial.values), distributions=found)
        )
        for step in sorted(steps):
            self.report(trial.number, step, steps[step])

    def renew_sampler(self) -> None:
        """Behind trials that it did not choose."""
        self._study.sampler = self._load_sampler(self._sweep, self.count)

    def list_values(self) -> list[dict[str, Value]]:
        """Of each trial, by its number."""
        return [dict(one.params) for one in self._study.get_trials(deepcopy=False)]

    def list_open(self) -> frozenset[int]:
        """Asked, and not told yet."""
        running = (self._optuna.trial.TrialState.RUNNING,)
        return frozenset(int(one.number) for one in self._study.get_trials(deepcopy=False, states=running))

    def report(self, number: int, step: float, value: float) -> None:
        """What a trial has come to; the first word of a step counts, as with Optuna alone. Infinity is no step."""
        trial_id = self._find(number)
        if math.isfinite(step) and step >= 0 and int(step) not in self._storage.get_trial(trial_id).intermediate_values:
            self._storage.set_trial_intermediate_value(trial_id, int(step), value)

    def is_hopeless(self, number: int) -> bool:
        """By the pruner; never without one."""
        trial = self._storage.get_trial(self._find(number))
        return bool(trial.intermediate_values) and bool(self._study.pruner.prune(self._study, trial))

    def tell(self, number: int, state: TrialState, value: float | None) -> None:
        """Once a trial; a second word about it changes nothing."""
        states = self._optuna.trial.TrialState
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if state is TrialState.DONE and value is not None and value == value:
                self._study.tell(number, value, skip_if_finished=True)
            elif state is TrialState.STOPPED and self._storage.get_trial(self._find(number)).intermediate_values:
                self._study.tell(number, state=states.PRUNED, skip_if_finished=True)
            else:
                self._study.tell(number, state=states.FAIL, skip_if_finished=True)

    def _find(self, number: int) -> int:
        return int(self._storage.get_trial_id_from_study_id_trial_number(self._id, number))

    def _load_sampler(self, sweep: Sweep, count: int) -> Any:
        """As it was after the last trial it chose. Another one must not draw again what was drawn at the beginning."""
        try:
            key, kept, sampler = pickle.loads(self._memory.read_bytes())
        except Exception:  # not there, of another version of Optuna, or cut: whatever it is, a new one does
            return self._make_sampler(sweep, count)
        return sampler if (key, kept) == (sweep_key(sweep), count) else self._make_sampler(sweep, count)

    def _make_sampler(self, sweep: Sweep, count: int) -> Any:
        seed = sweep.seed
        if seed is not None and count:
            seed = random.Random(f"{seed}:{count}").getrandbits(32)
        samplers = self._optuna.samplers
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental, says Optuna of the constant liar
            if sweep.sampler is Sampler.RANDOM:
                return samplers.RandomSampler(seed=seed)
            if sweep.sampler is Sampler.CMAES:
                _check_cmaes()
                return samplers.CmaEsSampler(seed=seed)
            # Trials that run at the same time must not all go to the same place.
            return samplers.TPESampler(seed=seed, constant_liar=sweep.parallel > 1)

    def _make_pruner(self, sweep: Sweep) -> Any:
        pruners = self._optuna.pruners
        if sweep.prune is Pruner.MEDIAN:
            return pruners.MedianPruner()
        return pruners.HyperbandPruner() if sweep.prune is Pruner.HYPERBAND else pruners.NopPruner()


def make_distribution(optuna: Any, dimension: Dimension) -> Any:
    made = optuna.distributions
    if dimension.kind is Kind.CHOICES:
        return made.CategoricalDistribution(dimension.choices)
    if dimension.kind is Kind.INT:
        return made.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.is_log)
    return made.FloatDistribution(dimension.low, dimension.high, log=dimension.is_log)


def widen(dimension: Dimension, value: Value) -> Dimension:
    """A range that was another one when this value was drawn."""
    if dimension.kind is Kind.CHOICES:
        return dimension
    return replace(dimension, low=min(dimension.low, float(value)), high=max(dimension.high, float(value)))


def sweep_key(sweep: Sweep) -> str:
    """What a sampler is made of."""
    return f"{sweep.sampler} {sweep.seed} {sweep.parallel > 1}"


def import_optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError as problem:
        raise ExtraMissing("this search needs Optuna", hint=make_extra_hint("sweep")) from problem
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def mend_journal(path: Path) -> None:
    """A line that was cut short by a crash is taken off: behind it nothing could be read any more."""
    try:
        with open(path, "r+b") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                file.truncate(whole)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise explain(problem, path) from problem


def _check_cmaes() -> None:
    try:
        import cmaes  # noqa: F401
    except ImportError as problem:
        raise ExtraMissing("the sampler cmaes needs a package of its own", hint=make_library_hint("cmaes")) from problem
