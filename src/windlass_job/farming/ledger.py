"""Who has which tasks: a ledger whose entries are made one after another, each holding the state that it leads to.

A claim takes tasks that were given back before it takes new ones. Whoever leaves gives back what he has not run; who
died is sealed by another: of his records only the first `length` bytes count from then on, and what they do not show as
ended is given back in the same entry. So no task is lost, and none counts twice.
"""

import functools
import json
from typing import Any, Dict, List, NamedTuple, Tuple

from windlass_job.farming import ranges
from windlass_job.farming.ranges import Range

CLAIM = "claim"
GIVE_BACK = "give back"
SEAL = "seal"  # `who` is dead
GROW = "grow"  # there are more tasks
RETRY = "retry"  # tasks that failed are to be run again
CLOSE = "close"  # no task is started any more
OPEN = "open"  # after all

State = NamedTuple(
    "State",
    [
        ("number", int),  # of the entry that led to it
        ("next", int),  # the first task that nobody has had yet
        ("total", int),
        ("pool", List[Range]),  # given back
        ("done", int),  # tasks that ended well, as far as the entries tell: workers tell it with their claims
        ("failed", int),
        ("stopped", int),  # of the failed: on demand
        ("sealed", Dict[str, int]),  # the dead, and how many bytes of their records count
        ("is_closed", bool),
    ],
)
# What ended since the worker's last entry. stopped: those of the failed that were stopped on demand.
Told = NamedTuple("Told", [("done", int), ("failed", int), ("stopped", int)])
NOTHING = Told(0, 0, 0)
# What one entry did: by whom, to whom, with which tasks.
Entry = NamedTuple(
    "Entry", [("kind", str), ("by", str), ("who", str), ("ranges", List[Range]), ("told", Told), ("state", State)]
)

EMPTY = State(0, 0, 0, [], 0, 0, 0, {}, False)


def count_free(state: State) -> int:
    """Tasks that anybody may take."""
    return 0 if state.is_closed else state.total - state.next + ranges.count(state.pool)


def is_complete(state: State) -> bool:
    """Every task is over, and told."""
    return state.done + state.failed >= state.total


def claim(state: State, count: int) -> "Tuple[State, List[Range]]":
    """At most so many."""
    count = min(count, count_free(state))
    taken, pool = ranges.split(state.pool, count)
    new = count - ranges.count(taken)
    if new > 0:
        taken.append((state.next, state.next + new, 0))
    return state._replace(next=state.next + max(new, 0), pool=pool), taken


def give_back(state: State, given: "List[Range]") -> State:
    return state._replace(pool=ranges.merge(state.pool + given))


def seal(state: State, who: str, length: int, left: "List[Range]") -> State:
    return give_back(state, left)._replace(sealed=dict(state.sealed, **{who: length}))


def grow(state: State, count: int) -> State:
    return state._replace(total=state.total + count)


def retry(state: State, given: "List[Range]", told: Told) -> State:
    """told: how many of the failed ones run again, as less than nothing; they are then not counted as such.

    That may be less than nothing for a while: who ran them has perhaps not told yet that they failed.
    """
    return tell(give_back(state, given), told)


def tell(state: State, told: Told) -> State:
    over = add(Told(state.done, state.failed, state.stopped), told)
    return state._replace(done=over.done, failed=over.failed, stopped=over.stopped)


def add(one: Told, other: Told) -> Told:
    return Told(one.done + other.done, one.failed + other.failed, one.stopped + other.stopped)


def subtract(one: Told, other: Told) -> Told:
    return Told(one.done - other.done, one.failed - other.failed, one.stopped - other.stopped)


def format_entry(
    kind: str, by: str, state: State, *, who: str = "", moved: "List[Range]", told: Told = NOTHING
) -> bytes:
    fields: Dict[str, Any] = dict(state._asdict(), kind=kind, by=by, ranges=moved, told=told)
    del fields["number"]
    if who:
        fields["who"] = who
    return (json.dumps(fields, sort_keys=True, separators=(",", ":")) + "\n").encode("utf-8")


def read_entry(number: int, content: bytes) -> Entry:
    """ValueError where a power cut left it empty."""
    fields = json.loads(content.decode("utf-8"))
    if not isinstance(fields, dict):
        raise ValueError("no entry: {!r}".format(fields))
    try:
        state = State(
            number=number,
            next=int(fields["next"]),
            total=int(fields["total"]),
            pool=ranges.read(fields["pool"]),
            done=int(fields["done"]),
            failed=int(fields["failed"]),
            stopped=int(fields.get("stopped", 0)),
            sealed={str(who): int(length) for who, length in fields["sealed"].items()},
            is_closed=bool(fields["is_closed"]),
        )
        moved = ranges.read(fields["ranges"])
        done, failed, stopped = map(int, [*fields["told"], 0][:3])
        told = Told(done, failed, stopped)
        return Entry(str(fields["kind"]), str(fields["by"]), str(fields.get("who", "")), moved, told, state)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("no entry: {!r}".format(error))


def count_told(entries: "List[Entry]", who: str) -> Told:
    """By the worker itself."""
    own = [entry.told for entry in entries if entry.by == who and entry.kind != SEAL]
    return functools.reduce(add, own, NOTHING)
