"""A farm is shown as one run: the one that leads it, for all of its pilots."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.core.record import RunRecord, RunState

if TYPE_CHECKING:
    from windlass.core.farm.values import FarmStatus


def fold_pilots(records: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """One row for a farm; it runs as long as one of its pilots does. A pilot whose leading run is not here stays."""
    pilots: dict[str, list[RunRecord]] = {}
    for one in records:
        if one.farm is not None:
            pilots.setdefault(one.farm, []).append(one)
    ids = {one.run_id for one in records}
    leads = [one for one in records if one.farm in (None, one.run_id) or one.farm not in ids]
    return tuple(_show_farm(one, pilots[one.farm]) if one.farm else one for one in leads)


def add_status(lead: RunRecord, status: "FarmStatus") -> RunRecord:
    """What the ledger says now; pilots tell it every few seconds, and the last time before their end."""
    return replace(
        lead,
        progress_done=float(status.over),
        progress_of=float(status.total),
        progress_unit="task",
        tasks_failed=status.failed or None,
        tasks_stopped=status.stopped or None,
    )


def _show_farm(lead: RunRecord, pilots: Sequence[RunRecord]) -> RunRecord:
    """Every pilot tells the tasks of the whole farm; who heard last knows most, and of two the later one."""
    furthest = max(pilots, key=lambda one: (one.progress_done or 0.0, one.created))
    shown = replace(
        lead,
        progress_done=furthest.progress_done,
        progress_of=furthest.progress_of,
        progress_unit=furthest.progress_unit,
        expected_end=furthest.expected_end,
        tasks_failed=furthest.tasks_failed,
        tasks_stopped=furthest.tasks_stopped,
    )
    live = {one.state for one in pilots if not one.state.is_final}
    if not live or not lead.state.is_final:
        return shown
    state = RunState.RUNNING if RunState.RUNNING in live else RunState.WAITING
    return replace(shown, state=state, reason=None)
