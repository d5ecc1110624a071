"""`sweep`: a space of values becomes the tasks of a farm."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import assert_never

from windlass.app.farms.sending import pack_rows
from windlass.app.farms.starting import PlannedFarm, plan_farm, send_farm
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.session import Session
from windlass.core.farm.values import COMMANDS, FarmNeeds
from windlass.core.record import RunRecord
from windlass.core.sweep.card import SweepCard, make_about, make_rows
from windlass.core.sweep.drawing import draw, make_grid
from windlass.core.sweep.table import read_table
from windlass.core.sweep.template import check_template
from windlass.core.sweep.values import Value
from windlass.core.sweep.wish import Method, Sweep, list_dimensions, settle
from windlass.edges.study import Study
from windlass.edges.sweep_files import find_journal, find_memory
from windlass.errors import UsageError, WindlassError

LINGER = timedelta(minutes=15)  # pilots wait so long for what is asked next
_MOST_SEED = 2**32


@dataclass(frozen=True, kw_only=True)
class PlannedSweep:
    farm: PlannedFarm
    card: SweepCard
    trials: list[dict[str, Value]]  # the first ones; of a search there will be more


def plan_sweep(
    session: Session,
    wanted: Wanted,
    sweep: Sweep,
    *,
    needs: FarmNeeds,
    pilots: int | None = None,
    plan: Callable[[Session, Wanted], Planned] = plan_run,
) -> PlannedSweep:
    """Nothing is sent; of a search nothing is asked yet. sweep: with its command."""
    sweep = settle(sweep)
    if sweep.seed is None and sweep.takes_count:
        sweep = replace(sweep, seed=secrets.randbelow(_MOST_SEED))
    trials = list_trials(sweep, wanted.project)
    names = list(trials[0]) if trials else [one.name for one in list_dimensions(sweep)]
    check_template(sweep.command or "", names)
    count, at_once = len(trials), None
    if sweep.learns:
        count, at_once = sweep.trials or 1, sweep.parallel
        needs = replace(needs, linger=max(needs.linger, LINGER))
    farm = plan_farm(session, wanted, tasks=count, needs=needs, pilots=pilots, at_once=at_once, plan=plan)
    return PlannedSweep(farm=farm, card=SweepCard(token=secrets.token_hex(8), sweep=sweep), trials=trials)


def send_sweep(
    session: Session, planned: PlannedSweep, *, study_file: Path | None = None, force: bool = False
) -> RunRecord:
    """The run that leads its farm. Of a search the first trials are asked for now: pilots begin with them."""
    card, trials = planned.card, planned.trials
    journal = study_file or find_journal(session.folders, card.token)
    memory = find_memory(session.folders, card.token)
    is_new = not journal.exists()
    try:
        if card.sweep.learns:
            card = replace(card, study=str(journal.absolute()))
            trials = _ask_first(Study(journal, card.token, card.sweep, memory=memory), card.sweep)
        packed = pack_rows(make_rows(card.sweep, 0, trials))
        return send_farm(session, planned.farm, packed, kind=COMMANDS, force=force, about=make_about(card))
    except WindlassError:
        if is_new:
            journal.unlink(missing_ok=True)  # nothing was sent: nobody will go on with it
            memory.unlink(missing_ok=True)
        raise


def list_trials(sweep: Sweep, project: Path, *, first: int = 0) -> list[dict[str, Value]]:
    """All that are known beforehand, from number `first` on; none of a search."""
    match sweep.method:
        case Method.GRID:
            return list(make_grid(list_dimensions(sweep)))[first:]
        case Method.TABLE:
            return read_table(_load_table(project, sweep.table or ""), sweep.table or "")[first:]
        case Method.RANDOM:
            space = list_dimensions(sweep)
            return [draw(space, seed=sweep.seed or 0, trial=number) for number in range(first, sweep.trials or 0)]
        case Method.OPTUNA | None:
            return []
        case _:
            assert_never(sweep.method)


def _ask_first(study: Study, sweep: Sweep) -> list[dict[str, Value]]:
    space = list_dimensions(sweep)
    return [study.ask(space)[1] for _ in range(min(sweep.parallel, sweep.trials or 1))]


def _load_table(project: Path, name: str) -> bytes:
    path = project / name
    try:
        return path.read_bytes()
    except OSError as problem:
        raise UsageError(f"the table {path} cannot be read: {problem.strerror}", hint="--table FILE") from problem
