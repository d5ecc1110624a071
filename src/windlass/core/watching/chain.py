"""A chain as bars over time: how each link waited, staged, ran, saved, what of its work was lost, and why it ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from windlass.core.events import Event
from windlass.core.record import RunRecord
from windlass_job import wire


class Phase(StrEnum):
    WAITING = "waiting"
    STAGING = "staging"  # nodes, data and environment, before the command
    RUNNING = "running"
    SAVING = "saving"  # from the request to stop on
    LOST = "lost"  # trained, and not saved when it ended


@dataclass(frozen=True, kw_only=True)
class Part:
    phase: Phase
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, kw_only=True)
class Save:
    time: float
    step: float | None = None
    seconds: float | None = None  # how long it took


@dataclass(frozen=True, kw_only=True)
class Link:
    """One start of one link: a link that was started again has several."""

    number: int
    job: str = ""
    parts: tuple[Part, ...] = ()
    saves: tuple[Save, ...] = ()
    why: str = ""  # it ended
    is_open: bool = False

    def count_s(self, phase: Phase) -> float:
        return sum(part.seconds for part in self.parts if part.phase is phase)


_WHY = {
    wire.DONE: "done",
    wire.CUT: "its time was nearly up; it was asked to stop",
    wire.FAILED: "the command failed",
    wire.TERMINATED: "it was told to end: cancelled or preempted",
    wire.SKIPPED: "nothing was left to do",
    wire.DUPLICATE: "another job held this link",
    wire.SPENT: "the hours that you set for the run are used up; it was asked to stop",
    wire.MOVED: "nodes could not talk; the rest was submitted again without them",
    wire.FENCED: "another job had taken over",
}
# What was trained after the last checkpoint is done again by the next link.
_KEEPS_ALL = (wire.DONE, wire.SKIPPED, wire.DUPLICATE, wire.MOVED)
_NO_WORD = "killed without a last word"


def make_chain(record: RunRecord, events: Sequence[Event], now: float) -> tuple[Link, ...]:
    """Oldest first; the last with what is still waiting for it. Nothing where no event was written."""
    starts = list(_split([one for one in events if one.number("t") is not None]))
    ends = [_find_end(start, following) for start, following in pairwise([*starts, []])]
    links: list[Link] = []
    free = record.created  # since when the next link could have started
    for place, start in enumerate(starts):
        is_open = ends[place] is None and place == len(starts) - 1 and not record.state.is_final
        end = ends[place] or (now if is_open else record.ended or start[-1].time)
        links.append(_make_link(start, max(free, _find_sent(record, start[0])), end, is_open=is_open))
        free = end
    return tuple(_tell_interruption(links, record))


def count_lost_s(links: Sequence[Link]) -> float:
    return sum(link.count_s(Phase.LOST) for link in links)


def _split(events: Sequence[Event]) -> Iterator[list[Event]]:
    """By starts of links; what comes before the first belongs to none."""
    start: list[Event] = []
    for one in events:
        if one.kind == wire.LINK_STARTED:
            if start:
                yield start
            start = [one]
        elif start:
            start.append(one)
    if start:
        yield start


def _find_end(start: Sequence[Event], following: Sequence[Event]) -> float | None:
    told = next((one.time for one in reversed(start) if one.kind == wire.LINK_ENDED), None)
    if told is not None:
        return told
    return start[-1].time if following else None


def _find_sent(record: RunRecord, start: Event) -> float:
    """When its job was submitted: between the end of a run and its resume nothing waits."""
    base = start.job.partition("_")[0]
    sent = (one.sent for one in record.submissions if base and one.job_id == base and one.sent is not None)
    return next(sent, record.created)


def _make_link(start: Sequence[Event], free: float, end: float, *, is_open: bool) -> Link:
    begin = start[0].time
    command = _find(start, wire.COMMAND_STARTED)
    stop = _find(start, wire.STOP_REQUESTED)
    outcome = next((one.word("outcome") for one in reversed(start) if one.kind == wire.LINK_ENDED), "")
    saves = tuple(_read_save(one) for one in start if one.kind == wire.SAVED)
    ran = command if command is not None else end
    parts = [
        Part(phase=Phase.WAITING, begin=min(free, begin), end=begin),
        Part(phase=Phase.STAGING, begin=begin, end=ran),
        *_cut_running(ran, stop, end, _find_lost(saves, ran, end, outcome, is_open=is_open)),
    ]
    return Link(
        number=start[0].link or 0,
        job=start[0].job,
        parts=tuple(part for part in parts if part.seconds > 0),
        saves=saves,
        why="" if is_open else _WHY.get(outcome, outcome or _NO_WORD),
        is_open=is_open,
    )


def _find_lost(saves: Sequence[Save], ran: float, end: float, outcome: str, *, is_open: bool) -> float | None:
    """From when on its work was in vain; None: nothing was lost, or no training told of checkpoints."""
    if is_open or outcome in _KEEPS_ALL or not saves:
        return None
    last = max(ran, saves[-1].time)
    return last if end > last else None


def _cut_running(ran: float, stop: float | None, end: float, lost: float | None) -> Iterator[Part]:
    """Running, then saving, then what was lost. A save after the request to stop belongs to saving."""
    useful = end if lost is None else lost
    asked = useful if stop is None else min(max(stop, ran), useful)
    yield Part(phase=Phase.RUNNING, begin=ran, end=asked)
    yield Part(phase=Phase.SAVING, begin=asked, end=useful)
    yield Part(phase=Phase.LOST, begin=useful, end=end)


def _read_save(event: Event) -> Save:
    at = event.number("at") or event.time
    return Save(time=at, step=event.number("step"), seconds=event.number("seconds"))


def _find(start: Sequence[Event], kind: str) -> float | None:
    return next((one.time for one in start if one.kind == kind), None)


def _tell_interruption(links: Sequence[Link], record: RunRecord) -> Iterator[Link]:
    """Slurm knows better what befell a link that left no word."""
    number, _, words = (record.interrupted or "").removeprefix("link ").partition(": ")
    for link in links:
        is_meant = words and number == str(link.number) and link.why == _NO_WORD
        yield replace(link, why=words) if is_meant else link
