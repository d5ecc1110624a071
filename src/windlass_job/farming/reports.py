"""What a pilot and its warm workers tell each other, in files without a name: calls one way, reports the other.

A call is a head and its row. A report is a head, the lines for the worker's records, and what the call returned; it is
whole or it does not count, since its writer may die at any byte.
"""

import struct
from typing import Iterator, NamedTuple, Tuple

_CALL = struct.Struct("<QII")  # task, attempt, bytes of the row
_REPORT = struct.Struct("<QIiIQQdd")
CALL_HEAD = _CALL.size
REPORT_HEAD = _REPORT.size
TOKEN = struct.Struct("<Q")  # where a call begins in the file of calls

Call = NamedTuple("Call", [("task", int), ("attempt", int), ("size", int)])
Report = NamedTuple(
    "Report",
    [
        ("task", int),
        ("attempt", int),
        ("code", int),
        ("text", int),  # bytes of its lines
        ("size", int),  # bytes of its result
        ("printed", int),  # where what it printed ends
        ("start", float),
        ("seconds", float),
    ],
)


def format_call(task: int, attempt: int, row: bytes) -> bytes:
    return _CALL.pack(task, attempt, len(row)) + row


def read_call(content: bytes, at: int) -> Call:
    return Call(*_CALL.unpack_from(content, at))


def format_head(report: Report) -> bytes:
    return _REPORT.pack(*report)


def read_head(content: bytes, at: int = 0) -> Report:
    return Report(*_REPORT.unpack_from(content, at))


def find_whole(content: bytes) -> "Iterator[Tuple[Report, int]]":
    """The reports that are whole in it, each with the place of its lines."""
    at, end = 0, len(content)
    while at + REPORT_HEAD <= end:
        report = read_head(content, at)
        at += REPORT_HEAD
        if at + report.text + report.size > end:
            return
        yield report, at
        at += report.text + report.size
