"""Which rows of the store are asked for."""

from collections.abc import Sequence
from typing import Any

from windlass.core.record import RunState

# Not the pilots of a farm whose leading run is known.
HEADS = "(farm IS NULL OR farm = run_id OR farm NOT IN (SELECT run_id FROM runs))"


def make_where(site: str | None, states: Sequence[RunState], name: str | None, query: str) -> tuple[str, list[Any]]:
    wheres, values = ["1"], list[Any]()
    if site is not None:
        wheres.append("site = ?")
        values.append(clean(site))
    if states:
        wheres.append(f"state IN ({', '.join('?' * len(states))})")
        values += [str(state) for state in states]
    if name is not None:
        wheres.append("name = ?")
        values.append(clean(name))
    if query:
        wheres.append("instr(lower(run_id), lower(?)) > 0")
        values.append(clean(query))
    return " AND ".join(wheres), values


def make_where_of_heads(site: str | None, states: Sequence[RunState], query: str) -> tuple[str, list[Any]]:
    where, values = make_where(site, (), None, query)
    if states:
        marks = ", ".join("?" * len(states))
        pilot = f"SELECT 1 FROM runs AS pilot WHERE pilot.farm = runs.run_id AND pilot.state IN ({marks})"
        where += f" AND (state IN ({marks}) OR (farm = run_id AND EXISTS ({pilot})))"
        values += 2 * [str(state) for state in states]
    return f"{where} AND {HEADS}", values


def clean(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
