"""Runs as they are listed everywhere: a farm is one of them, however many pilots it has."""

from collections.abc import Sequence

from windlass.core.farm.folding import fold_pilots
from windlass.core.record import RunRecord, RunState
from windlass.edges.store import Store


def list_runs(
    store: Store,
    *,
    limit: int | None,
    offset: int = 0,
    site: str | None = None,
    states: Sequence[RunState] = (),
    query: str = "",
) -> tuple[RunRecord, ...]:
    """Newest first. states: a farm has those of all its pilots."""
    heads = store.heads(limit=limit, offset=offset, site=site, states=states, query=query)
    pilots = store.pilots([one.run_id for one in heads if one.leads_farm])
    return fold_pilots([*heads, *(one for one in pilots if not one.leads_farm)])
