"""The deputy's hand in farms: tables laid and grown, numbers and outputs found, tasks stopped and tried again.

What does it (windlass_job/farming) is compiled when it is asked for the first time: most sessions never do.
"""

import os
import sys

from windlass_job import disk, wire
from windlass_job.deputy_blobs import cut_payload, get_content, remove_blob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Optional, Set

    from windlass_job.deputy import Answer, Call

_FARM = disk.as_path(wire.FARM)
_ledgers = {}  # type: Dict[bytes, Any]


def lay_farm(new: bytes, root: bytes, blobs: "Dict[str, Any]", asked: "Dict[str, Any]", call: "Call") -> None:
    """Into a run folder that is being made."""
    _bring_farming()
    from windlass_job.farming import adding

    rows = _unpack(root, blobs, asked["pieces"], call)
    adding.lay(os.path.join(new, _FARM), asked["card"], rows, asked["kind"])


def forget_pieces(root: bytes, asked: "Dict[str, Any]") -> None:
    for piece in asked["pieces"]:
        remove_blob(root, piece)


def add_tasks(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import adding

    root = disk.expand_root(call.arguments["root"])
    blobs, _ = cut_payload(call)
    rows = _unpack(root, blobs, call.arguments["pieces"], call)
    name = call.arguments["name"]
    disk.join_inside(folder, name)
    first, count = adding.add(folder, name, rows, call.arguments["kind"], call.arguments.get("first"))
    forget_pieces(root, {"pieces": [one for one in call.arguments["pieces"] if one not in blobs]})
    return {"first": first, "count": count}, b""


def look(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import adding, reading

    if folder not in _ledgers:
        _ledgers[folder] = adding.open_ledger(folder)
    return reading.look(folder, _ledgers[folder]), b""


def read_results(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import reading

    workers, lines, is_more = reading.read_new(folder, call.arguments.get("since") or {})
    return {"workers": workers, "more": is_more, "retries": reading.load_card(folder).get("retries") or 0}, lines


def read_calls(call: "Call") -> "Answer":
    """Results of Python functions; see farming/news.py."""
    folder = _find_farm(call)
    from windlass_job.farming import adding, news

    if folder not in _ledgers:
        _ledgers[folder] = adding.open_ledger(folder)
    found = news.read_news(folder, _ledgers[folder], call.arguments.get("since") or {})
    return found.values, found.payload


def put_functions(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import news

    files, at = [], 0
    for one in call.arguments["files"]:
        files.append((str(one["name"]), bytes(call.payload[at : at + one["bytes"]])))
        at += one["bytes"]
    news.put_functions(folder, files)
    return {}, b""


def read_rows(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import packing, reading

    try:
        rows = reading.read_rows(folder, int(call.arguments["first"]), int(call.arguments["end"]))
    except LookupError as error:
        raise disk.Refused("not-found", str(error)) from None
    pieces = list(packing.pack(rows))
    return {"bytes": [len(piece) for piece in pieces]}, b"".join(pieces)


def find_output(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import reading

    return {"pieces": reading.find_output(folder, int(call.arguments["task"]))}, b""


def turn(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import adding

    return {"is_closed": adding.turn(folder, bool(call.arguments["is_closed"])).is_closed}, b""


def retry(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import adding, reading

    retries = int(reading.load_card(folder).get("retries") or 0)
    return {"tasks": adding.retry(folder, _read_tasks(call), retries)}, b""


def stop(call: "Call") -> "Answer":
    folder = _find_farm(call)
    from windlass_job.farming import adding

    return {"stopped": adding.stop(folder, _read_tasks(call) or set(), True)}, b""


def _read_tasks(call: "Call") -> "Optional[Set[int]]":
    tasks = call.arguments.get("tasks")
    return None if tasks is None else {int(task) for task in tasks}


def _find_farm(call: "Call") -> bytes:
    _bring_farming()
    folder = os.path.join(disk.as_path(call.arguments["folder"]), _FARM)
    if not os.path.isfile(os.path.join(folder, disk.as_path(wire.FARM_CARD))):
        raise disk.Refused("not-found", "%s is no farm" % call.arguments["folder"])
    return folder


def _unpack(root: bytes, blobs: "Dict[str, Any]", pieces: "Any", call: "Call") -> "Iterator[bytes]":
    from windlass_job.farming import packing

    for piece in pieces:
        for row in packing.unpack(bytes(get_content(root, blobs, piece))):
            yield row
        call.beat()


def _bring_farming() -> None:
    """Sources that came with the deputy and were not compiled; see `windlass/edges/bundle.py`."""
    package = sys.modules["windlass_job"]
    late = getattr(package, "late", [])
    while late:
        getattr(package, "load")(*late.pop(0))  # noqa: B009
