"""What is worth a notice: a record as it was and as it is now in, events out, each with a key of its own."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from windlass.core.gauges.idleness import Idle
from windlass.core.interruptions import CANCELLED
from windlass.core.record import RunRecord, RunState
from windlass.core.units import format_seconds

_TOO_OLD_S = 7 * 86_400.0  # what ended longer ago is no news: a run folder of another laptop, just found


class EventKind(StrEnum):
    STARTED = "started"
    ENDED = "ended"  # well
    FAILED = "failed"
    CHAIN_BROKEN = "chain-broken"  # it ended before its time, with links left that will not run
    INTERRUPTED = "interrupted"  # a link was preempted, or its node lost; the chain goes on
    SAVES_NOTHING = "saves-nothing"  # for long
    IDLE_GPU = "idle-gpu"
    BUDGET = "budget"  # a limit of the user's is used up


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened to one run. `key` is the same for the same thing, whoever saw it."""

    kind: EventKind
    key: str
    run_id: str
    name: str
    site: str
    state: str
    text: str  # one sentence, with the run's name
    hint: str | None = None  # a command to paste
    at: float  # when it was seen, seconds since 1970


@dataclass(frozen=True, kw_only=True)
class Notices:
    """[notices] of config.toml: who is told of what."""

    desktop: bool = True  # by the desktop of this machine (notify-send, or macOS)
    terminal: bool = True  # by a bell and OSC 9 in the terminal in which a command runs
    command: str | None = None  # a program that gets each event: JSON on its input, and variables WINDLASS_EVENT_*
    events: tuple[EventKind, ...] = tuple(EventKind)  # of which; default: all
    saves_nothing_for: timedelta = timedelta(hours=2)  # so long without a new checkpoint is worth a notice
    mail: str | None = None  # an address for Slurm's own mail, at sites where that works


def list_events(
    old: RunRecord | None, new: RunRecord, settings: Notices, now: float, *, idle: Idle | None = None
) -> tuple[Event, ...]:
    """old: as it was seen before, None: never. idle: its GPUs, where somebody measured that they are.

    The same thing seen again has the same key: whoever tells remembers keys, and tells each once.
    """
    seen = _Seen(old=old, new=new, settings=settings, now=now, idle=idle)
    found = (event for rule in _RULES for event in rule(seen))
    return tuple(event for event in found if event.kind in settings.events)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    old: RunRecord | None
    new: RunRecord
    settings: Notices
    now: float
    idle: Idle | None

    @property
    def chain(self) -> int:
        """The number of its last chain: a resume is another one, and its start and end are news again."""
        return self.new.chain[0].number if self.new.submissions else 0

    def is_new_state(self) -> bool:
        return self.old is None or self.old.state is not self.new.state or self.old.submissions != self.new.submissions

    def make(self, kind: EventKind, key: object, words: str, verb: str | None = None) -> Event:
        new = self.new
        return Event(
            kind=kind,
            key=f"{kind}:{key}",
            run_id=new.run_id,
            name=new.name,
            site=new.site,
            state=str(new.state),
            text=f"{new.run_id} at {new.site}: {words}",
            hint=f"windlass {verb} {new.run_id}" if verb else None,
            at=self.now,
        )


def _started(seen: _Seen) -> Iterator[Event]:
    if seen.new.state is RunState.RUNNING and seen.is_new_state():
        where = f" on {seen.new.nodes}" if seen.new.nodes else ""
        yield seen.make(EventKind.STARTED, seen.chain, f"started{where}", "logs -f")


def _ended(seen: _Seen) -> Iterator[Event]:
    """Of a run that the user took back himself nothing is told."""
    new = seen.new
    is_news = new.state.is_final and seen.is_new_state()
    if not is_news or seen.now - (new.ended or new.updated) > _TOO_OLD_S:
        return
    if new.state is RunState.CANCELLED and new.reason == CANCELLED:
        return
    kind, verb = _choose_end(new)
    reason = f": {new.reason}" if new.reason and new.reason != new.state.value else ""
    took = f" after {new.ran_for}" if new.ran_for else ""
    yield seen.make(kind, f"end:{seen.chain}", f"{new.state.said_of_a_run}{took}{reason}", verb)


def _choose_end(record: RunRecord) -> tuple[EventKind, str]:
    if record.state is RunState.DONE:
        return EventKind.ENDED, "fetch"
    if record.state is RunState.OUT_OF_BUDGET:
        return EventKind.BUDGET, "explain"
    has_rest = record.links > 1 and ((record.link or 0) < record.links or record.missing_links > 0)
    return (EventKind.CHAIN_BROKEN if has_rest else EventKind.FAILED), "explain"


def _over_budget(seen: _Seen) -> Iterator[Event]:
    """While it still saves: the end is told with the same key, so that one of the two is."""
    if seen.new.over_budget is not None and not seen.new.state.is_final:
        words = f"was asked to save and stop: {seen.new.over_budget}"
        yield seen.make(EventKind.BUDGET, f"end:{seen.chain}", words, "explain")


def _interrupted(seen: _Seen) -> Iterator[Event]:
    new = seen.new
    if new.interrupted and not new.state.is_final and (seen.old is None or seen.old.interrupted != new.interrupted):
        words = f"{new.interrupted}; the chain goes on"
        yield seen.make(EventKind.INTERRUPTED, f"{seen.chain}:{new.interrupted}", words, "explain")


def _saves_nothing(seen: _Seen) -> Iterator[Event]:
    """Only where it is known that something is to be saved: the run names a folder, and the agent looks into it."""
    new = seen.new
    if new.state is not RunState.RUNNING or new.saved is None or new.link_started is None:
        return
    silent_s = seen.now - max(new.saved, new.link_started)
    if silent_s > seen.settings.saves_nothing_for.total_seconds():
        lasted = format_seconds(silent_s)
        words = f"has saved nothing for {lasted}; what it does since then is lost when it stops"
        yield seen.make(EventKind.SAVES_NOTHING, f"{seen.chain}:{new.link}:{int(new.saved)}", words, "logs")


def _idle(seen: _Seen) -> Iterator[Event]:
    """Once for each idle period."""
    if seen.idle is not None and seen.new.state is RunState.RUNNING:
        key = f"{seen.chain}:{seen.new.link}:{int(seen.idle.since)}"
        yield seen.make(EventKind.IDLE_GPU, key, seen.idle.words, "report")


_RULES: tuple[Callable[[_Seen], Iterator[Event]], ...] = (
    _started,
    _interrupted,
    _saves_nothing,
    _idle,
    _over_budget,
    _ended,
)


def make_variables(event: Event) -> Mapping[str, str]:
    """For the user's command. Values, never parts of a line of shell."""
    return {
        "WINDLASS_EVENT": str(event.kind),
        "WINDLASS_EVENT_RUN": event.run_id,
        "WINDLASS_EVENT_NAME": event.name,
        "WINDLASS_EVENT_SITE": event.site,
        "WINDLASS_EVENT_STATE": event.state,
        "WINDLASS_EVENT_TEXT": event.text,
        "WINDLASS_EVENT_HINT": event.hint or "",
    }
