"""How much each name of a search matters, as Optuna says it: told from its trials, so that whoever asks hears the same.

The study's own journal is left alone: another process may be writing it, or it may lie on another laptop.
"""

import contextlib
import warnings
from collections.abc import Sequence
from functools import reduce
from typing import Any

from windlass.core.sweep.importance import LEAST
from windlass.core.sweep.trials import Trial
from windlass.core.sweep.wish import Goal, Sweep, list_dimensions
from windlass.edges.study import import_optuna, make_distribution, widen
from windlass.errors import ExtraMissing


def measure_by_optuna(sweep: Sweep, trials: Sequence[Trial]) -> tuple[dict[str, float], str]:
    """With the name of the measure. Empty where nothing can be said: too few trials, or Optuna is not here."""
    ranked = [one for one in trials if one.is_ranked]
    if len(ranked) < LEAST:
        return {}, ""
    with contextlib.suppress(ExtraMissing, ValueError, RuntimeError, ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optuna = import_optuna()
        # Of Optuna 4 the default is another one, which says something else each time.
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        found = optuna.importance.get_param_importances(_make_study(optuna, sweep, ranked), evaluator=evaluator)
        shares = {name: float(share) for name, share in found.items()}
        return shares, f"PED-ANOVA of Optuna {optuna.__version__}" if shares else ""
    return {}, ""


def _make_study(optuna: Any, sweep: Sweep, ranked: Sequence[Trial]) -> Any:
    """In memory. One range for all of a name's values, also where it was changed meanwhile: else it would not count."""
    ranges = {
        one.name: make_distribution(optuna, reduce(widen, (trial.values[one.name] for trial in ranked), one))
        for one in list_dimensions(sweep)
    }
    study = optuna.create_study(direction="minimize" if sweep.goal is Goal.MIN else "maximize")
    study.add_trials(
        optuna.trial.create_trial(params=dict(one.values), distributions=ranges, value=one.metric) for one in ranked
    )
    return study
