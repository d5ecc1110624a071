"""What has become of calls since the last look, for whoever waits for them: new results, and what failed without one.

Read in the opposite order of writing (records, places, results): whatever is told to have failed has left by then what
it will ever leave.
"""

import os
import re
from typing import Any, Dict, List, NamedTuple, Tuple

from windlass_job import disk, wire
from windlass_job.farming import records
from windlass_job.farming.entries import Ledger
from windlass_job.farming.roll import DiskRoll, make_timing

MOST = 16 << 20  # bytes of results in one answer
_RECORDS = 4 << 20  # of each worker that are looked through at once
_FAILED = re.compile(rb"^e \d+ \d+ (?!0 )[^\n]*\n", re.MULTILINE)
_ENDINGS = (b".rec", wire.FARM_RESULTS_INDEX.encode(), wire.FARM_RESULTS.encode())

Answer = NamedTuple("Answer", [("values", Dict[str, Any]), ("payload", bytes)])


def read_news(folder: bytes, book: Ledger, since: "Dict[str, List[int]]", most: int = MOST) -> Answer:
    """since: of each worker, how far its records, places and results were read."""
    pilots, told, pieces, left = os.path.join(folder, b"pilots"), [], [], most
    names = _list_names(pilots, _ENDINGS[0])
    sizes = {name: _measure(os.path.join(pilots, disk.as_path(name))) for name in names}
    book.refresh()
    state = book.load()
    is_more = False
    for name in names:
        read = since.get(name) or [0, 0, 0]
        end = min(sizes[name][0], state.sealed.get(name, sizes[name][0]))
        if left <= 0:
            is_more = is_more or [end, sizes[name][2]] > [read[0], read[2]]
            continue
        parts, to = _read_worker(os.path.join(pilots, disk.as_path(name)), (end,) + sizes[name][1:], read, left)
        if to != read:
            told.append({"name": name, "to": to, "bytes": [len(part) for part in parts]})
            pieces += parts
            left -= sum(map(len, parts))
            is_more = is_more or to[0] < end or to[2] < sizes[name][2]
    beats = DiskRoll(folder).list_living(make_timing().dead_after_s)
    values = {"workers": told, "more": is_more, "total": state.total, "is_closed": state.is_closed}
    card = disk.read_json(os.path.join(folder, wire.FARM_CARD.encode())) or {}
    values.update(alive=len(beats), running=_list_running(pilots, beats), retries=card.get("retries") or 0)
    return Answer(values, b"".join(pieces))


def _read_worker(
    stem: bytes, sizes: "Tuple[int, ...]", read: "List[int]", left: int
) -> "Tuple[List[bytes], List[int]]":
    """Places and results that are new; failures only when no result is left behind them."""
    index = _read(stem + _ENDINGS[1], read[1], min(sizes[1] - read[1], left))
    index = index[: records.find_whole(index)]
    results = _read(stem + _ENDINGS[2], read[2], min(sizes[2] - read[2], left))
    to = [read[0], read[1] + len(index), read[2] + len(results)]
    if to[1] < sizes[1] or to[2] < sizes[2]:
        return [b"", index, results], to
    lines = _read(stem + _ENDINGS[0], read[0], min(sizes[0] - read[0], _RECORDS))
    lines = lines[: records.find_whole(lines)]
    to[0] += len(lines)
    return [b"".join(_FAILED.findall(lines)), index, results], to


def _measure(stem: bytes) -> "Tuple[int, ...]":
    """In the order of the names: of the records first."""
    return tuple(_find_size(stem + ending) for ending in _ENDINGS)


def _find_size(path: bytes) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _list_running(pilots: bytes, alive: "List[str]") -> "List[int]":
    cards = [disk.read_json(os.path.join(pilots, disk.as_path(name) + b".json")) or {} for name in alive]
    return [one[0] for card in cards for one in card.get("running") or ()]


def put_functions(folder: bytes, files: "List[Tuple[str, bytes]]") -> None:
    """A function has the name of its content, so it is the same whoever puts it."""
    where = os.path.join(folder, wire.FARM_FUNCTIONS.encode())
    disk.make_folders(where)
    for name, content in files:
        path = disk.join_inside(where, name)
        if name == wire.FARM_CLOUDPICKLE or not os.path.exists(path):
            disk.replace(path, content)


def _list_names(folder: bytes, ending: bytes) -> "List[str]":
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(disk.as_text(name[: len(name) - len(ending)]) for name in names if name.endswith(ending))


def _read(path: bytes, start: int, size: int) -> bytes:
    if size <= 0:
        return b""
    with open(path, "rb", 0) as file:
        file.seek(start)
        content = b""
        while len(content) < size:
            piece = file.read(size - len(content))
            if not piece:
                break
            content += piece
    return content
