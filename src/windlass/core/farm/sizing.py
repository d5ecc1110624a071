"""How many pilots, how large and how long: from what tasks need and what a site gives. Each choice with its reason."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from windlass.core.farm.values import FarmNeeds
from windlass.core.plan import Reason
from windlass.core.units import format_duration, format_human_duration
from windlass.errors import PlanError

_WORTH = timedelta(minutes=10)  # of work for each task at once: a wait in a queue must pay
_TIME = timedelta(hours=8)  # of a pilot whose tasks' time nobody said
_MARGIN = 1.25
_START = timedelta(minutes=5)
_MOST_PILOTS = 16  # unless the user says more: centres want few jobs


@dataclass(frozen=True, kw_only=True)
class Room:
    """One node where pilots go, and what limits there are. None: not known."""

    cpus: int | None = None
    gpus: int = 0
    memory_mb: int | None = None
    nodes: int | None = None  # of that kind
    whole_nodes: bool = False
    is_one_machine: bool = False  # nodes are only pretended
    longest: timedelta | None = None  # of one job
    notice: timedelta = timedelta(seconds=60)  # kept at the end of each
    jobs: tuple[tuple[int, str], ...] = ()  # how many jobs at once, and whose limit that is
    caps: tuple[tuple[str, int, str], ...] = ()  # how much of "cpu", "gres/gpu", "node", "mem" at once, and whose


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user says of pilots himself."""

    pilots: int | None = None
    nodes: int | None = None  # of one pilot
    time: timedelta | None = None  # of one pilot, all its links
    at_once: int | None = None  # no more tasks run at the same time


def format_asked(asked: Asked) -> dict[str, Any]:
    """For the farm's card: it holds for pilots that come later too."""
    time_s = asked.time.total_seconds() if asked.time else None
    return {"pilots": asked.pilots, "nodes": asked.nodes, "time_s": time_s, "at_once": asked.at_once}


def read_asked(card: Mapping[str, Any]) -> Asked:
    told = card.get("asked") or {"pilots": card.get("pilots")}
    time_s = told.get("time_s")
    return Asked(
        pilots=told.get("pilots"),
        nodes=told.get("nodes"),
        time=timedelta(seconds=time_s) if time_s else None,
        at_once=told.get("at_once"),
    )


@dataclass(frozen=True, kw_only=True)
class There:
    """Pilots that wait or run already, and how many tasks they can run at once."""

    pilots: int = 0
    places: int = 0


@dataclass(frozen=True, kw_only=True)
class PilotSize:
    pilots: int
    slots: int  # tasks at once on one node
    nodes: int = 1  # of one pilot
    cpus: int = 1  # of one node
    gpus: int = 0
    memory_mb: int | None = None
    time: timedelta | None = None
    shortage: str = ""  # what a task asks for and this machine does not have
    reasons: tuple[Reason, ...] = ()

    @property
    def at_once(self) -> int:
        return self.pilots * self.nodes * self.slots


def choose_size(tasks: int, needs: FarmNeeds, room: Room, asked: Asked) -> PilotSize:
    """Raises PlanError where a task fits nowhere."""
    _refuse_too_short(needs, asked)
    _refuse_misfit(needs, room)
    most = count_slots(needs, room)
    wanted, why = _count_wanted(tasks, needs)
    if asked.at_once is not None and asked.at_once < wanted:
        wanted, why = asked.at_once, f"{asked.at_once} of {tasks} tasks at once"
    nodes = asked.nodes or 1
    slots = most if most is not None and (room.whole_nodes or nodes > 1) else max(1, min(most or 1, wanted))
    size = PilotSize(
        pilots=1,
        nodes=nodes,
        slots=slots,
        cpus=_count_cpus(slots, needs, room),
        gpus=-(-slots // needs.share) * needs.gpus if needs.gpus else 0,
        memory_mb=slots * needs.memory_mb or None,
        shortage=_find_shortage(needs, room),
    )
    pilots, pilots_why = _count_pilots(size, wanted, room, asked)
    size = replace(size, pilots=pilots)
    at_once = min(size.at_once, asked.at_once or size.at_once)
    time, time_why = _choose_time(tasks, needs, room, asked, at_once=at_once)
    reasons = (
        Reason(field="tasks at once", value=str(size.at_once), why=_tell_fit(needs, size, room, why)),
        Reason(field="pilots", value=str(pilots), why=pilots_why),
        Reason(field="pilot's time", value=format_human_duration(time), why=time_why),
    )
    return replace(size, time=time, reasons=reasons)


def choose_more(tasks: int, needs: FarmNeeds, room: Room, asked: Asked, there: There) -> PilotSize | None:
    """What is to be sent for so many tasks that are left, beside what is there; None: nothing."""
    if tasks <= 0:
        return None
    whole = choose_size(tasks, needs, room, asked)
    if asked.pilots is not None:
        return _cut_pilots(whole, min(whole.pilots, tasks) - there.pilots)
    missing = min(whole.at_once, tasks) - there.places
    if missing <= 0:
        return None
    part = choose_size(missing, replace(needs, task_time=None), room, replace(asked, at_once=None))
    return replace(part, time=whole.time)


def _cut_pilots(size: PilotSize, pilots: int) -> PilotSize | None:
    return replace(size, pilots=pilots) if pilots > 0 else None


def count_slots(needs: FarmNeeds, room: Room) -> int | None:
    """How many tasks one node holds; None: not known."""
    fits = []
    if room.cpus is not None:
        fits.append(room.cpus // needs.cpus)
    if needs.gpus and room.gpus:
        fits.append(room.gpus // needs.gpus * needs.share)
    if needs.memory_mb and room.memory_mb is not None:
        fits.append(room.memory_mb // needs.memory_mb)
    return max(1, min(fits)) if fits else None


def _refuse_too_short(needs: FarmNeeds, asked: Asked) -> None:
    """No task begins for which a pilot has no time left: such pilots would run nothing at all."""
    if needs.task_time and asked.time and needs.task_time >= asked.time:
        raise PlanError(
            f"a task of {format_human_duration(needs.task_time)} does not fit into a pilot of"
            f" {format_human_duration(asked.time)}",
            hint=f"--pilot-time {format_duration(_round_up(needs.task_time * _MARGIN + _START))}, or without it",
            about="farm",
        )


def _refuse_misfit(needs: FarmNeeds, room: Room) -> None:
    if room.is_one_machine:
        return  # it takes what there is
    for word, wanted, there in _list_misfits(needs, room):
        raise PlanError(
            f"a task that needs {wanted} {word} fits on no node here: it has {there}",
            hint="ask for less for each task, or name another partition",
            about="farm",
        )
    if needs.task_time and room.longest and needs.task_time > room.longest - room.notice:
        raise PlanError(
            f"a task of {format_human_duration(needs.task_time)} does not fit into a job of at most"
            f" {format_human_duration(room.longest)}, whose last {format_human_duration(room.notice)} are for its end",
            hint="a task that saves and goes on is a run of its own: windlass run",
            about="farm",
        )


def _list_misfits(needs: FarmNeeds, room: Room) -> list[tuple[str, int, int]]:
    """What, how much of it a task asks for, and how much there is."""
    told = (("CPUs", needs.cpus, room.cpus), ("GPUs", needs.gpus, room.gpus), ("MB", needs.memory_mb, room.memory_mb))
    return [(word, wanted, there) for word, wanted, there in told if there is not None and (wanted or 0) > there]


def _find_shortage(needs: FarmNeeds, room: Room) -> str:
    """Only one's own machine runs a task all the same. Of GPUs the plan tells, as of any run."""
    return "; ".join(
        f"a task asks for {wanted} {word}, and this machine has {there}"
        for word, wanted, there in _list_misfits(needs, room)
        if word != "GPUs"
    )


def _count_wanted(tasks: int, needs: FarmNeeds) -> tuple[int, str]:
    """How many at once would be good."""
    if needs.task_time is None or needs.task_time >= _WORTH:
        return max(1, tasks), f"{tasks} tasks"
    wanted = max(1, -(-tasks * needs.task_time // _WORTH))
    each = format_human_duration(needs.task_time)
    return wanted, f"{tasks} tasks of {each}: {format_human_duration(_WORTH)} of work for each place"


def _count_cpus(slots: int, needs: FarmNeeds, room: Room) -> int:
    asked = slots * needs.cpus
    if room.cpus is None:
        return asked
    return room.cpus if room.whole_nodes else min(asked, room.cpus)


def _count_pilots(size: PilotSize, wanted: int, room: Room, asked: Asked) -> tuple[int, str]:
    needed = max(1, -(-wanted // (size.slots * size.nodes)))
    if asked.pilots is not None:
        return _cut(asked.pilots, "as you say", _list_caps(size, room))
    if room.is_one_machine:
        return 1, "one machine: one pilot has all of it"
    limits = [(_MOST_PILOTS, "a few jobs do; --pilots says more"), *_list_caps(size, room)]
    if room.nodes is not None:
        limits.append((max(1, room.nodes // size.nodes), f"there are {room.nodes} such nodes"))
    return _cut(needed, f"{size.slots * size.nodes} tasks at once in each", limits)


def _cut(wanted: int, why: str, limits: Iterable[tuple[int, str]]) -> tuple[int, str]:
    most, whose = min(limits, default=(wanted, ""))
    return (wanted, why) if wanted <= most else (max(1, most), whose)


def _list_caps(size: PilotSize, room: Room) -> Iterable[tuple[int, str]]:
    yield from ((most, whose) for most, whose in room.jobs)
    takes = {"cpu": size.cpus, "gres/gpu": size.gpus, "node": 1, "mem": size.memory_mb or 0}
    for name, most, whose in room.caps:
        if takes.get(name):
            yield most // (takes[name] * size.nodes), whose


def _choose_time(tasks: int, needs: FarmNeeds, room: Room, asked: Asked, *, at_once: int) -> tuple[timedelta, str]:
    if asked.time is not None:
        return asked.time, "as you say"
    if needs.task_time is None:
        time = min(_TIME, room.longest) if room.longest else _TIME
        return time, "how long a task takes is not said (--time); a pilot leaves when no task is left"
    rounds = max(1, -(-tasks // at_once))
    time = _round_up(rounds * needs.task_time * _MARGIN + _START)
    word = "round" if rounds == 1 else "rounds"
    return time, f"{rounds} {word} of {format_human_duration(needs.task_time)} and a quarter more"


def _round_up(time: timedelta) -> timedelta:
    step = timedelta(minutes=1) if time < timedelta(hours=1) else timedelta(minutes=15)
    return -(-time // step) * step


def _tell_fit(needs: FarmNeeds, size: PilotSize, room: Room, why: str) -> str:
    parts = [f"{needs.cpus} CPU{'s' if needs.cpus > 1 else ''}"]
    if needs.gpus:
        parts.append(f"{needs.gpus} GPU{'s' if needs.gpus > 1 else ''}")
        parts += [f"{needs.share} on a GPU"] if needs.share > 1 else []
    if needs.memory_mb:
        parts.append(f"{needs.memory_mb} MB")
    there = f" of {room.cpus} CPUs" if room.cpus else ""
    return f"{why}; each takes {', '.join(parts)}, so {size.slots} fit on a node{there}"
