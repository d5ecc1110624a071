"""`sweep resume`: more trials, another range, and on after any crash. What was tried is not tried again."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from windlass.app.farms.adding import add_tasks, ensure_pilots
from windlass.app.farms.asking import ask_farm
from windlass.app.farms.sending import pack_rows
from windlass.app.farms.steering import open_farm
from windlass.app.session import Session
from windlass.app.sweeps.holding import hold_sweep
from windlass.app.sweeps.knowing import open_study
from windlass.app.sweeps.looking import SweepReader
from windlass.app.sweeps.starting import list_trials
from windlass.core.codec import to_json
from windlass.core.farm.values import COMMANDS
from windlass.core.record import RunRecord
from windlass.core.sweep.card import SweepCard, make_about, make_rows
from windlass.core.sweep.space import MOST_TRIALS, read_dimension
from windlass.core.sweep.values import Value, format_value
from windlass.core.sweep.wish import Method, Sweep
from windlass.edges.host import Request, expect
from windlass.errors import SiteNotReady, UsageError
from windlass_job import wire

_MOST_TRIES = 100  # others may be faster a few times, never so often


@dataclass(frozen=True, kw_only=True)
class More:
    """What is to be different from now on."""

    trials: int | None = None  # so many more
    space: Mapping[str, str] = field(default_factory=dict)  # other values of these names
    table: str | None = None  # of a sweep by table: rows that are not tried yet


@dataclass(frozen=True, kw_only=True)
class Resumed:
    added: int  # trials that are in the farm now and were not; a search adds its own later
    pilots: tuple[RunRecord, ...]  # started now
    sweep: Sweep


@contextmanager
def resuming(session: Session, record: RunRecord, more: More, *, stays: bool = True) -> Iterator[Resumed]:
    """What was changed. A search is held until the end of the `with`, in which it is driven; others meanwhile wait.

    stays: whoever calls goes on to follow it, which a search needs.
    """
    reader = SweepReader(session=session, record=record)
    learns = _look(reader).sweep.learns
    if learns and not stays:
        raise UsageError("Optuna chooses each trial by those before it, so this program must stay", hint="without -d")
    with ExitStack() as held:
        held.enter_context(hold_sweep(session, record, waits=not learns))
        resumed = _resume(reader, more)
        if not learns:
            held.close()
        yield resumed


def resume_sweep(session: Session, record: RunRecord, more: More, *, stays: bool = True) -> Resumed:
    """Whoever follows it then may find that another drives it."""
    with resuming(session, record, more, stays=stays) as resumed:
        return resumed


def _look(reader: SweepReader) -> SweepCard:
    reader.look()
    assert reader.card is not None
    return reader.card


def _resume(reader: SweepReader, more: More) -> Resumed:
    """First the trials, then the card: where another laptop was faster nothing has changed, and it is looked anew.

    After a crash between them the trials are there, and counted by whoever comes next.
    """
    session, record = reader.session, reader.record
    for _ in range(_MOST_TRIES):
        card = _look(reader)
        changed = replace(card, sweep=change(card.sweep, more, len(reader.values)))
        if changed.sweep.learns:
            open_study(session, card)  # tells before anything changes that it cannot be read here
        added = _add(session, record, changed, reader.values)
        if added is None:
            continue
        if changed != card:
            _save_card(session, record, changed)
        if reader.status is not None and reader.status.is_closed:
            open_farm(session, record)
        return Resumed(added=added, pilots=tuple(ensure_pilots(session, record)), sweep=changed.sweep)
    raise SiteNotReady(f"others add trials to {record.run_id} all the time", hint="the same command again")


def change(sweep: Sweep, more: More, count: int) -> Sweep:
    """count: of trials that there are."""
    _check(sweep, more)
    trials = sweep.trials
    if more.trials is not None:
        trials = max(count, sweep.trials or 0) + more.trials
        if trials > MOST_TRIALS:
            raise UsageError(f"a sweep has at most {MOST_TRIALS:,} trials", hint="begin another one")
    return replace(sweep, trials=trials, space={**sweep.space, **more.space}, table=more.table or sweep.table)


def _check(sweep: Sweep, more: More) -> None:
    for name, text in more.space.items():
        if name not in sweep.space:
            known = ", ".join(sweep.space) or "none"
            raise UsageError(f"this sweep has no values of {name}", hint=f"it has {known}; another one begins anew")
        old, new = read_dimension(name, sweep.space[name]), read_dimension(name, text)
        is_other = (old.kind, old.is_log, old.choices) != (new.kind, new.is_log, new.choices)
        if sweep.learns and is_other:
            raise UsageError(
                f"Optuna cannot go on with other values of {name}: a range may change, a list may not, nor log or int",
                hint="begin another sweep",
            )
    if more.trials is not None and not sweep.takes_count:
        raise UsageError(f"a {sweep.method} has as many trials as it has", hint=_tell_how_to_grow(sweep, more))
    if more.table is not None and sweep.method is not Method.TABLE:
        raise UsageError(f"the trials of this sweep come from {sweep.method}, not from a table", hint="without --table")


def _tell_how_to_grow(sweep: Sweep, more: More) -> str:
    """One that has as many trials as it has."""
    if sweep.method is Method.TABLE:
        return "--table FILE with more rows"
    given = [read_dimension(name, text) for name, text in more.space.items()]
    endless = next((one for one in given if one.is_endless), None)
    if endless is not None:
        return f"without --trials, and with how many of {endless.name}: {endless.name}={more.space[endless.name]}/5"
    return "without --trials" if given else f"give it more values: {next(iter(sweep.space))}=…"


def _add(session: Session, record: RunRecord, card: SweepCard, tried: list[dict[str, Value]]) -> int | None:
    """How many. None: others added some since it was asked which were tried, and nothing was added."""
    new = _list_new(card.sweep, Path(record.project or "."), tried)
    if not new:
        return 0
    packed = pack_rows(make_rows(card.sweep, len(tried), new))
    return len(add_tasks(session, record, packed, COMMANDS, first=len(tried))) or None


def _list_new(sweep: Sweep, project: Path, tried: list[dict[str, Value]]) -> list[dict[str, Value]]:
    if sweep.learns:
        return []  # it adds its own later
    if sweep.method is Method.RANDOM:
        return list_trials(sweep, project, first=len(tried))
    known = {_make_key(one) for one in tried}
    return [one for one in list_trials(sweep, project) if _make_key(one) not in known]


def _make_key(values: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, format_value(value)) for name, value in values.items()))


def _save_card(session: Session, record: RunRecord, card: SweepCard) -> None:
    told = ask_farm(session, record, "farm_look").values["card"]
    content = to_json({**told, **make_about(card)})
    file = {"path": f"{record.folder}/{wire.FARM}/{wire.FARM_CARD}", "bytes": len(content)}
    request = Request(operation="write", arguments={"files": [file]}, payload=content, idempotent=True)
    reply = session.host(session.site(record.site)).ask([request])[0]
    expect(reply, SiteNotReady, f"the sweep {record.run_id} cannot be changed")
