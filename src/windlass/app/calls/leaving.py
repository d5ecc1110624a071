"""The end of the program: what was submitted is brought to the site before the threads behind executors are gone."""

import atexit
import sys
import time
import weakref
from collections.abc import Sequence

from windlass.app.calls.desk import Desk
from windlass_job.farming.functions import describe

_LONGEST_S = 60.0  # for all of them together
_QUIET_S = 2.0
_desks: "weakref.WeakSet[Desk]" = weakref.WeakSet()


def send_before_exit(desk: Desk) -> None:
    """Also where nobody calls `shutdown` or `detach`."""
    _desks.add(desk)


@atexit.register
def _send_all() -> None:
    end = time.monotonic() + _LONGEST_S
    for desk in list(_desks):
        _send(desk, end)


def _send(desk: Desk, end: float) -> None:
    if not desk.is_at_work:
        return
    asked = desk.hurry()
    try:
        if not desk.wait_until_sent(min(_QUIET_S, _count_left_s(end))):
            what = _count(asked) if asked else "what was cancelled"
            _tell(f"windlass: {what} of {desk.name}: on the way to {desk.site}; Ctrl-C gives it up")
            desk.wait_until_sent(_count_left_s(end))
    except KeyboardInterrupt:
        pass  # what is not there yet is told below
    desk.go_on()
    unsent = [one for one in asked if one.task is None and not one.is_dropped]
    if unsent:
        refusal = unsent[0].exception() if unsent[0].done() else desk.problem
        why = f": {describe(refusal)}" if refusal is not None else ""
        _tell(f"warning: {_count(unsent)} of {desk.name} could not be sent to {desk.site}{why}")


def _count_left_s(end: float) -> float:
    return max(0.0, end - time.monotonic())


def _count(calls: Sequence[object]) -> str:
    return "1 call" if len(calls) == 1 else f"{len(calls)} calls"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
