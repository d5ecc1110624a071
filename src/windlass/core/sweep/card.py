"""The sweep as its farm's card tells it: the truth of what was wanted lies at the site, beside the trials."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from windlass.core.codec import to_json
from windlass.core.farm.rows import Task, make_row
from windlass.core.sweep.template import make_filler
from windlass.core.sweep.values import Value, format_value, read_value
from windlass.core.sweep.wish import Sweep
from windlass.errors import UsageError

KEY = "sweep"  # of farm/card.json
PATTERNS = "patterns"  # by which pilots find numbers in what tasks print


@dataclass(frozen=True, kw_only=True)
class SweepCard:
    token: str  # names its study
    sweep: Sweep
    study: str | None = None  # the journal of the study on the laptop that began it
    names: tuple[str, ...] = ()  # in the order in which they are drawn: a card at a site has its keys sorted


def make_about(card: SweepCard) -> dict[str, Any]:
    """What the card of its farm says besides the rest."""
    sweep = card.sweep
    patterns = {sweep.metric: sweep.pattern} if sweep.pattern else {}
    told = msgspec.json.decode(to_json(replace(card, names=tuple(sweep.space))))
    return {KEY: told, PATTERNS: patterns}


def read_card(told: Mapping[str, Any], sweep_id: str) -> SweepCard:
    found = told.get(KEY)
    if not isinstance(found, dict):
        raise UsageError(f"{sweep_id} is a farm and no sweep", hint=f"windlass farm status {sweep_id}")
    try:
        card = msgspec.convert(found, SweepCard)
    except msgspec.ValidationError as problem:
        raise UsageError(f"the card of {sweep_id} cannot be read: {problem}") from problem
    space = {name: card.sweep.space[name] for name in (card.names or card.sweep.space)}
    return replace(card, sweep=replace(card.sweep, space=space), names=tuple(space))


def make_rows(sweep: Sweep, first: int, trials: list[dict[str, Value]]) -> list[bytes]:
    """One for each trial, from number `first` on."""
    fill = make_filler(sweep.command or "")
    return [
        make_row(Task(command=fill(number, values), values={name: format_value(one) for name, one in values.items()}))
        for number, values in enumerate(trials, first)
    ]


def read_values(task: Task) -> dict[str, Value]:
    return {name: read_value(text) for name, text in task.values.items()}
