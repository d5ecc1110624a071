"""What a farm looks like from outside: numbers, workers, what became of tasks, what they printed."""

import os
import re
import zlib
from typing import Any, Dict, Iterator, List, Tuple

from windlass_job import disk, wire
from windlass_job.farming import adding, ledger, ranges, records
from windlass_job.farming.entries import Ledger
from windlass_job.farming.ledger import Entry, State, Told
from windlass_job.farming.roll import DiskRoll, make_timing
from windlass_job.farming.table import Table

_BLOCK = 4 << 20
_TOLD = (records.CLAIM + b" ", records.END + b" ")  # beginnings of lines
_MOST = 2 << 20  # bytes of records that are looked through for one answer


def look(folder: bytes, book: Ledger) -> "Dict[str, Any]":
    """The newest state, and what each worker told last; `untold`: what ended since the worker's last entry."""
    state, _ = adding.settle(folder, book)
    alive = set(DiskRoll(folder).list_living(make_timing().dead_after_s))
    workers = [_describe(folder, name, alive) for name in _list_names(os.path.join(folder, b"pilots"), b".json")]
    known: "Dict[str, Told]" = {}
    for entry in book.load_entries():
        if entry.kind != ledger.SEAL:
            known[entry.by] = ledger.add(known.get(entry.by, ledger.NOTHING), entry.told)
    for one in workers:
        told = known.get(one["name"], ledger.NOTHING)
        own = Told(one["done"], one["failed"], one["stopped"])
        one["untold"] = [0 if one["name"] in state.sealed else max(0, count) for count in ledger.subtract(own, told)]
        one.update((name, max(getattr(own, name), getattr(told, name))) for name in Told._fields)
    return {
        "card": load_card(folder),
        "total": state.total,
        "done": state.done,
        "failed": state.failed,
        "stopped": state.stopped,
        "free": state.total - state.next + sum(end - first for first, end, _ in state.pool),
        "is_closed": state.is_closed,
        "entry": state.number,
        "cuts": _find_cuts(book.load_entries(), state, workers),
        "workers": workers,
    }


def _find_cuts(entries: "List[Entry]", state: State, workers: "List[Dict[str, Any]]") -> "List[List[int]]":
    """Tasks that the end of pilots cut short, and how often; of those that wait or run."""
    running = {one[0] for worker in workers for one in worker["running"]}
    given = (moved for entry in entries if entry.kind == ledger.GIVE_BACK for moved in entry.ranges)
    cut = {(first, end): ranges.count_cuts(past) for first, end, past in given if ranges.count_cuts(past)}
    known = {task: count for (first, end), count in cut.items() for task in range(first, end) if task in running}
    for first, end, past in state.pool:
        if ranges.count_cuts(past):
            known.update(dict.fromkeys(range(first, end), ranges.count_cuts(past)))
    return [[task, count] for task, count in sorted(known.items())]


def load_card(folder: bytes) -> "Dict[str, Any]":
    card = disk.read_json(os.path.join(folder, wire.FARM_CARD.encode()))
    if card is None:
        raise disk.Refused("not-found", "%s is no farm" % disk.as_text(folder))
    return card


def read_new(folder: bytes, since: "Dict[str, int]") -> "Tuple[List[Dict[str, Any]], bytes, bool]":
    """Lines about tasks that ended, behind what was read before: (whose they are, the lines, whether there is more).

    Sizes before the ledger: whoever is sealed after that had at least as much by then.
    """
    pilots = os.path.join(folder, b"pilots")
    sizes = {
        name: os.stat(os.path.join(pilots, disk.as_path(name) + b".rec")).st_size for name in _list_workers(pilots)
    }
    sealed = adding.open_ledger(folder).load().sealed
    told, pieces, room = [], [], _MOST  # type: List[Dict[str, Any]], List[bytes], int
    for name, size in sorted(sizes.items()):
        start, end = since.get(name, 0), min(size, sealed.get(name, size))
        if end <= start:
            continue
        if room <= 0:
            return told, zlib.compress(b"".join(pieces), 3), True
        content = _read(os.path.join(pilots, disk.as_path(name) + b".rec"), start, min(end - start, room))
        content = content[: records.find_whole(content)]
        ends = b"".join(line for line in content.splitlines(True) if line.startswith(_TOLD))
        pieces.append(ends)
        card = disk.read_json(os.path.join(pilots, disk.as_path(name) + b".json")) or {}
        told.append({"name": name, "host": card.get("host"), "to": start + len(content), "bytes": len(ends)})
        room -= len(content)
        if start + len(content) < end and room <= 0:
            return told, zlib.compress(b"".join(pieces), 3), True
    return told, zlib.compress(b"".join(pieces), 3), False


def read_rows(folder: bytes, first: int, end: int) -> "List[bytes]":
    return [row for _, row in Table(os.path.join(folder, b"tasks")).read(first, end)]


def find_output(folder: bytes, task: int) -> "List[Dict[str, Any]]":
    """Where what it printed lies: pieces of files, in the order in which they were printed."""
    pilots = os.path.join(folder, b"pilots")
    found: "List[Tuple[float, Dict[str, Any]]]" = []
    for name in _list_workers(pilots):
        stem = os.path.join(pilots, disk.as_path(name))
        starts: "Dict[int, float]" = {}
        for words in _find_lines(stem + b".idx", b"%d " % task):
            starts = starts or {int(one[2]): float(one[3]) for one in _find_lines(stem + b".rec", b"s %d " % task)}
            attempt, offset, size = int(words[1]), int(words[2]), int(words[3])
            piece = {"path": disk.as_text(stem + b".out"), "attempt": attempt, "from": offset, "bytes": size}
            found.append((starts.get(attempt, 0.0), dict(piece, worker=name)))
    return [piece for _, piece in sorted(found, key=lambda one: (one[0], one[1]["worker"], one[1]["from"]))]


def _find_lines(path: bytes, begin: bytes) -> "Iterator[List[bytes]]":
    """The words of each whole line that begins so, without a look at the others."""
    pattern = re.compile(rb"^" + re.escape(begin) + rb"[^\n]*\n", re.MULTILINE)
    if not os.path.exists(path):
        return
    with open(path, "rb", 0) as file:
        held = b""
        while True:
            block = file.read(_BLOCK)
            if not block:
                return
            held += block
            whole = records.find_whole(held)
            for match in pattern.finditer(held[:whole]):
                yield match.group().split()
            held = held[whole:]


def _describe(folder: bytes, name: str, alive: "Any") -> "Dict[str, Any]":
    card = disk.read_json(os.path.join(folder, b"pilots", disk.as_path(name) + b".json")) or {}
    is_alive = name in alive
    return {
        "name": name,
        "host": card.get("host"),
        "is_alive": is_alive,
        "t": card.get("t") or 0,
        "done": card.get("done") or 0,
        "failed": card.get("failed") or 0,
        "stopped": card.get("stopped") or 0,
        "slots": card.get("slots") or 0,
        "running": card.get("running") or [] if is_alive else [],
    }


def _list_workers(pilots: bytes) -> "List[str]":
    return _list_names(pilots, b".rec")


def _list_names(folder: bytes, ending: bytes = b"") -> "List[str]":
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    shown = (name for name in names if name.endswith(ending) and not name.startswith(b"."))
    return sorted(disk.as_text(name[: len(name) - len(ending)]) for name in shown)


def _read(path: bytes, start: int, size: int) -> bytes:
    with open(path, "rb", 0) as file:
        file.seek(start)
        pieces = []
        while size > 0:
            piece = file.read(min(size, _BLOCK))
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
    return b"".join(pieces)
