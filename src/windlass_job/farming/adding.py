"""A farm is made, grows, and is closed and opened again: what the laptop asks for, done at the site.

Rows are first written under a name of their own. Then tasks/FIRST.json is made, which only one can make; and last the
ledger says that there are more tasks. So a pilot never hears of a task whose row is not there, and of two who add at
once each gets numbers of his own. Whoever dies in between has either added nothing, or whoever comes next finds the
file and writes into the ledger what is missing there. Each addition has a name: asked for twice, it is done once.
"""

import os
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from windlass_job import disk, wire
from windlass_job.claims import refresh_folder
from windlass_job.farming import ledger, ranges, records, table
from windlass_job.farming.entries import Change, DiskStore, Ledger, Unsure
from windlass_job.farming.ledger import State, Told
from windlass_job.farming.table import Segment

_LAPTOP = "laptop"
_MOST_TRIES = 1000  # others may be faster a few times, never so often


def lay(folder: bytes, card: "Dict[str, Any]", rows: "Iterable[bytes]", kind: str) -> int:
    """A new farm, in a run folder that nobody sees yet. How many tasks it has."""
    for name in (b"tasks", b"log", b"beats", b"pilots", b"wanted"):
        disk.make_folders(os.path.join(folder, name))
    tasks = os.path.join(folder, b"tasks")
    count = table.write_rows(tasks, 0, rows)
    if count:
        table.publish(tasks, Segment(0, count, kind))
        settle(folder, open_ledger(folder))
    else:
        for suffix in (b".rows", b".idx"):
            disk.remove_if_there(os.path.join(tasks, b"%012d" % 0 + suffix))
    disk.replace(os.path.join(folder, wire.FARM_CARD.encode()), disk.make_json(card))
    return count


def add(
    folder: bytes, name: str, rows: "Iterable[bytes]", kind: str, first: "Optional[int]" = None
) -> "Tuple[int, int]":
    """(number of the first one, how many). first: that number, or nothing is added: (what it would be, 0)."""
    book, tasks = open_ledger(folder), os.path.join(folder, b"tasks")
    count = 0
    for _ in range(_MOST_TRIES):
        state, segments = settle(folder, book)
        known = next((one for one in segments if one.name == name), None)
        if known is not None:
            return known.first, known.count
        if first is not None and state.total != first:
            table.remove_rows(tasks, name)
            return state.total, 0
        if not count:
            count = table.write_rows(tasks, 0, rows, name)
            if not count:
                raise disk.Refused("failed", "no tasks")
        try:
            table.publish(tasks, Segment(state.total, count, kind, name))
        except FileExistsError:
            continue
    raise disk.Refused("failed", "others add tasks all the time")


def settle(folder: bytes, book: Ledger) -> "Tuple[State, List[Segment]]":
    """The newest state, with all tasks counted whose rows are there; and these rows."""
    tasks = os.path.join(folder, b"tasks")
    for _ in range(_MOST_TRIES):
        refresh_folder(tasks)
        book.refresh()
        segments = sorted(table.load_segments(tasks))
        state = book.load()
        late = next((one for one in segments if one.first == state.total and one.count), None)
        end = segments[-1].first + segments[-1].count if segments else 0
        if late is None and end == state.total:
            return state, segments
        if late is not None:
            _grow(book, late)
    raise disk.Refused("failed", "the tables and the ledger of %s do not agree" % disk.as_text(folder))


def _grow(book: Ledger, segment: Segment) -> None:
    def change(state: State) -> "Optional[Tuple[State, bytes]]":
        if state.total != segment.first:
            return None  # another did it
        made = ledger.grow(state, segment.count)
        moved = [(segment.first, segment.first + segment.count, 0)]
        return made, ledger.format_entry(ledger.GROW, _LAPTOP, made, moved=moved)

    _append(book, change)


def turn(folder: bytes, is_closed: bool) -> State:
    """Closes the farm: no task is started any more. Or opens it again."""
    book = open_ledger(folder)
    settle(folder, book)

    def change(state: State) -> "Optional[Tuple[State, bytes]]":
        if state.is_closed == is_closed:
            return None
        made = state._replace(is_closed=is_closed)
        return made, ledger.format_entry(ledger.CLOSE if is_closed else ledger.OPEN, _LAPTOP, made, moved=[])

    return _append(book, change) or book.load()


def _append(book: Ledger, change: Change) -> "Optional[State]":
    """Where the disk fails it may have happened all the same: all that is asked for here may be asked for again."""
    try:
        return book.append(change)
    except Unsure as error:
        raise disk.Refused("failed", str(error)) from None


# ---- tasks that failed ----------------------------------------------------------------------------


def retry(folder: bytes, wanted: "Optional[Set[int]]", retries: int) -> "List[int]":
    """Those of them that have failed are to be run again; None: all. Asked for by two at once it happens once."""
    book = open_ledger(folder)
    settle(folder, book)
    failed = find_failed(folder, book, retries)
    if wanted is not None:
        failed = {task: failure for task, failure in failed.items() if task in wanted}
    again: "List[int]" = []

    def change(state: State) -> "Optional[Tuple[State, bytes]]":
        again[:] = _leave_out_taken(book, failed)
        if not again:
            return None
        moved = ranges.merge((task, task + 1, 0) for task in again)
        told = Told(0, -len(again), -sum(failed[task].code == records.STOPPED for task in again))
        made = ledger.retry(state, moved, told)
        return made, ledger.format_entry(ledger.RETRY, _LAPTOP, made, moved=moved, told=told)

    stop(folder, set(failed), False)
    _append(book, change)
    return again


# seen: by which workers it was ended, and the greatest entry of the ledger that each knew of by then. code: of its last
# end, the one with the greatest order: entry and attempt.
Failure = NamedTuple("Failure", [("seen", Dict[str, int]), ("order", Tuple[int, int]), ("code", int)])
NEVER = Failure({}, (-1, 0), 0)


def find_failed(folder: bytes, book: Ledger, retries: int) -> "Dict[int, Failure]":
    """By the records: tasks that ended badly, and never well."""
    failed, done = {}, set()  # type: Dict[int, Failure], Set[int]
    for who, content in load_records(folder, book):
        known = 0
        for line in content.splitlines():
            if line.startswith(records.CLAIM + b" "):
                known = max(known, int(line.split()[1]))
                continue
            ended = records.read_end(line)
            if ended is None or not records.is_over(ended, retries):
                continue
            if ended.code == 0:
                done.add(ended.task)
            else:
                before = failed.get(ended.task, NEVER)
                order, code = max((before.order, before.code), ((known, ended.attempt), ended.code))
                failed[ended.task] = Failure(dict(before.seen, **{who: known}), order, code)
    return {task: failure for task, failure in failed.items() if task not in done}


def _leave_out_taken(book: Ledger, failed: "Dict[int, Failure]") -> "List[int]":
    """Without those that wait to run again, or have been taken since: their failure is of an earlier life."""
    last: "Dict[int, Tuple[str, int]]" = {}
    for entry in book.load_entries():
        for first, end, _ in entry.ranges if entry.kind != ledger.GROW else ():
            for task in _find_in(failed, first, end):
                last[task] = (entry.by if entry.kind == ledger.CLAIM else "", entry.state.number)
    sealed = book.load().sealed
    return sorted(
        task
        for task, (who, number) in last.items()
        # Of the dead all that was not given back is over.
        if who and (who in sealed or failed[task].seen.get(who, 0) >= number)
    )


def _find_in(tasks: "Dict[int, Failure]", first: int, end: int) -> "List[int]":
    if end - first < len(tasks):
        return [task for task in range(first, end) if task in tasks]
    return [task for task in tasks if first <= task < end]


def load_records(folder: bytes, book: Ledger) -> "Iterable[Tuple[str, bytes]]":
    """Of each worker what counts: whole lines, and of the dead only what was there when they were sealed."""
    pilots = os.path.join(folder, b"pilots")
    names = sorted(name for name in os.listdir(pilots) if name.endswith(b".rec"))
    contents = ((disk.as_text(name[:-4]), disk.read_bytes(os.path.join(pilots, name))) for name in names)
    for who, content in contents:
        length = book.load().sealed.get(who, len(content))
        yield who, content[: min(length, records.find_whole(content))]


# ---- tasks that are stopped -----------------------------------------------------------------------


def stop(folder: bytes, tasks: "Set[int]", is_stopped: bool) -> int:
    """How many are to stop now. Of two who change that in the same moment the later one counts."""
    path = os.path.join(folder, wire.FARM_STOPS.encode())
    before = load_stops(path)
    after = before | tasks if is_stopped else before - tasks
    if after != before:
        disk.replace(path, disk.make_json({"tasks": sorted(after)}))
    return len(after)


def load_stops(path: bytes) -> "Set[int]":
    found = disk.read_json(path) or {}
    return {task for task in found.get("tasks", ()) if isinstance(task, int)}


def open_ledger(folder: bytes) -> Ledger:
    return Ledger(DiskStore(os.path.join(folder, b"log")))
