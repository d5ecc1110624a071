"""When tasks are short, many lanes in one Python hold each other up: then every few slots get a worker of their own.

A part is an ordinary worker that has some of its node's slots. A pilot begins as a whole and looks how fast tasks go:
longer ones gain nothing by it, and every worker beats and claims on the shared file system.
"""

import os
from typing import List, NamedTuple, TypeVar

from windlass_job import faults

_LANES = 4  # in one process
_MANY = 1000  # tasks a second of a whole pilot, from which on they are short
_LEAST_S = 2.0  # of work for all slots: for less a start of Python is too dear
_AGAIN_S = 30  # after a try that found a long task among short ones

Part = NamedTuple("Part", [("number", int), ("count", int)])
WHOLE = Part(1, 1)
# What of a node a worker has. whole: which start of the node's pilot it is a part of.
Seat = NamedTuple("Seat", [("part", Part), ("whole", int), ("may_split", bool)])
ALL = Seat(WHOLE, 0, True)

_Item = TypeVar("_Item")


def read_part(word: str) -> Part:
    """`2/4`: the second of four."""
    number, _, count = word.partition("/")
    part = Part(int(number), int(count))
    if not 1 <= part.number <= part.count:
        raise ValueError("no part of a pilot: {}".format(word))
    return part


def format_part(part: Part) -> str:
    return "{}/{}".format(part.number, part.count)


def list_parts(count: int) -> "List[Part]":
    return [Part(number, count) for number in range(1, count + 1)]


def choose(slots: "List[_Item]", part: Part) -> "List[_Item]":
    """Those of a part; at least one, where there are as many as parts."""
    begin, end = ((len(slots) * number) // part.count for number in (part.number - 1, part.number))
    return slots[begin:end]


class Split:
    """Whether and when a pilot goes on in parts. Asked now and then.

    All its slots must be free at one moment: two workers may not have the same. So it pauses: starts nothing until the
    tasks that run have ended. One that does not end soon shows that not all are short: then it goes on as before.
    """

    def __init__(self, slots: int, seat: Seat) -> None:
        lanes, self._many, self._again_s = _LANES, _MANY, _AGAIN_S
        if os.environ.get(faults.SPLIT_VARIABLE):
            lanes, self._many, self._again_s = (int(word) for word in os.environ[faults.SPLIT_VARIABLE].split(","))
        self.count = -(-slots // lanes) if seat.may_split else 1  # of parts
        self.is_pausing = False
        self.is_due = False  # all slots are free: the parts may begin
        self._again_at = 0.0

    def look(self, now: float, rate: float, left: int) -> None:
        """rate: tasks a second here, as far as is known; left: tasks that wait, here and for all."""
        if self.is_pausing:
            self.is_pausing, self._again_at = False, now + self._again_s
        elif self.count > 1 and now >= self._again_at:
            self.is_pausing = rate >= self._many and left >= rate * _LEAST_S
