"""A sweep as pages, pictures and tables may show it: without passwords, keys and tokens."""

from collections.abc import Callable
from dataclasses import replace

from windlass.core.ending.hiding import names_a_secret
from windlass.core.secret_words import HIDDEN
from windlass.core.sweep.seen import SweepSeen
from windlass.core.sweep.trials import Trial
from windlass.core.sweep.values import Value


def hide_in_sweep(seen: SweepSeen, hide: Callable[[str], str]) -> SweepSeen:
    """hide: what a text is without them. A parameter that is called a key has no value that is shown."""
    space = {name: HIDDEN if names_a_secret(name) else hide(text) for name, text in seen.sweep.space.items()}
    sweep = replace(seen.sweep, command=hide(seen.sweep.command or ""), space=space)
    return replace(seen, sweep=sweep, trials=tuple(_hide_in_trial(one, hide) for one in seen.trials))


def _hide_in_trial(trial: Trial, hide: Callable[[str], str]) -> Trial:
    values = {name: _hide_value(name, value, hide) for name, value in trial.values.items()}
    return replace(trial, values=values, last_line=hide(trial.last_line))


def _hide_value(name: str, value: Value, hide: Callable[[str], str]) -> Value:
    if names_a_secret(name):
        return HIDDEN
    return hide(value) if isinstance(value, str) else value
