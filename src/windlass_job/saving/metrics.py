"""What a training tells while it runs, written by a thread of its own: lines of metrics, and one document of progress.

Telling costs the training a microsecond and never waits for a file system; when that hangs for long, the newest lines
are dropped and counted.
"""

import json
import os
import threading
import time
from collections import deque

from windlass_job.bounded import describe, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

    Record = Tuple[Any, float, Dict[str, Any]]

PAUSE_S = 1.0
MOST_WAITING = 100000  # records
WAKE_AFTER = 5000
MOST_UNWRITTEN = 8 << 20  # bytes that a file system refused
FULL_S = 1.0  # how long a training that tells faster than anybody can write is held up
LONGEST_TEXT = 300
MOST_BITS = 10000  # of an integer: Python refuses to write one of more than 4300 digits
_PLAIN = (float, int, bool, str, type(None))
_NUMBERS = frozenset((float, int))
MOST_TEMPLATES = 100
_templates: "Dict[Tuple[str, ...], str]" = {}
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class Lines:
    """Lines of metrics for one file. Without a path they go nowhere."""

    def __init__(self, path: "Optional[str]") -> None:
        self._path = path
        self._waiting: Deque[Record] = deque()
        self._unwritten = b""
        self._dropped = 0
        self.is_stuck = False  # nothing was taken for long: nobody waits for it any more

    def add(self, step: "Any", metrics: "Dict[str, Any]") -> bool:
        """False when the writer should be woken now. Values are taken as they are at this moment."""
        step = make_plain(step)
        for name, value in metrics.items():
            if type(value) is not float:
                metrics[name] = make_plain(value)
        waiting = self._waiting
        if len(waiting) >= MOST_WAITING:
            self._dropped += 1
            return False
        waiting.append((step, time.time(), metrics))
        return len(waiting) % WAKE_AFTER != 0

    def write(self) -> None:
        """All that waits, in one write of whole lines. May raise OSError; then they wait on."""
        self._unwritten += self._take()
        if not self._unwritten or self._path is None:
            return
        _make_folder(os.path.dirname(self._path))
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(handle, self._unwritten) :]
        finally:
            os.close(handle)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MOST_WAITING

    def _take(self) -> bytes:
        self.is_stuck = False
        records = [self._waiting.popleft() for _ in range(len(self._waiting))]
        dropped, self._dropped = self._dropped, 0
        if len(self._unwritten) > MOST_UNWRITTEN:
            self._dropped = dropped + len(records)
            return b""
        if dropped:
            say("{} lines of metrics are lost: the run folder did not take them in time".format(dropped))
        return "".join(map(_format_or_tell, records)).encode("ascii")


def _format_or_tell(record: "Record") -> str:
    """One line that cannot be written must not take the others with it."""
    try:
        return format_record(*record)
    except Exception as error:  # values are the user's own, and their methods may raise anything
        say("a line of metrics is lost: {}".format(describe(error)))
        return ""


def format_record(step: "Any", t: float, metrics: "Dict[str, Any]") -> str:
    """One line: {"step":5,"t":1700000000.123,"loss":0.25}. A metric called t becomes metric_t."""
    names = tuple(metrics)
    values = (step, t) + tuple(metrics.values())
    if _NUMBERS.issuperset(map(type, values)) and _is_finite(values):
        return (_templates.get(names) or _make_template(names)) % values
    return _format_any(step, t, metrics)


def _is_finite(values: "Tuple[float, ...]") -> bool:
    try:
        total = sum(values)
    except OverflowError:  # an integer that no float can hold
        return False
    return total - total == 0


def _make_template(names: "Tuple[str, ...]") -> str:
    """Most lines have the names of the one before, and plain numbers: four times as fast as json."""
    words = (json.dumps("metric_t" if name == "t" else name).replace("%", "%%") for name in names)
    made = '{"step":%r,"t":%.3f' + "".join(",{}:%r".format(word) for word in words) + "}\n"
    if len(_templates) < MOST_TEMPLATES:
        _templates[names] = made
    return made


def _format_any(step: "Any", t: float, metrics: "Dict[str, Any]") -> str:
    if "t" in metrics:
        metrics["metric_t"] = metrics.pop("t")
    record = {"step": step, "t": round(t, 3)}
    record.update(metrics)
    try:
        return _encode(record) + "\n"
    except (ValueError, TypeError):
        return _encode({name: make_plain(value, for_json=True) for name, value in record.items()}) + "\n"


def make_plain(value: "Any", for_json: bool = False) -> "Any":
    """A number of any library as Python's own; JSON has no infinity and no NaN, so there they become words."""
    if type(value) not in _PLAIN:
        value = _ask_value(value)
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return hex(value)[:LONGEST_TEXT]
    if for_json and isinstance(value, float) and value - value != 0:
        return repr(value)
    return value


def _ask_value(value: "Any") -> "Any":
    for ask in (lambda: value.item(), lambda: float(value)):
        try:
            found = ask()
        except Exception:  # whatever it is: not a number, and no reason to stop a training
            continue
        if type(found) in _PLAIN:
            return found
    try:
        return str(value)
    except Exception:  # as above
        return "a {} that cannot be shown".format(type(value).__name__)


class Writer:
    """One thread that writes what waits, about once a second. Never raises, waits only in `flush`."""

    def __init__(self, works: "List[Callable[[], None]]") -> None:
        """works: called one after another in the thread; each writes what waits for it."""
        self._works = works
        self._wake = threading.Event()
        self._turn = threading.Condition()
        self._asked = 0
        self._done = 0
        self._thread: Optional[threading.Thread] = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work_for_ever, name="windlass-metrics", daemon=True)
            self._thread.start()

    def flush(self, timeout_s: float) -> bool:
        """Until all that was told before this call has been tried to write; False when it takes longer."""
        if self._thread is None:
            return True
        with self._turn:
            self._asked += 1
            mine = self._asked
            self._wake.set()
            return self._turn.wait_for(lambda: self._done >= mine, timeout_s)

    def wake(self) -> None:
        self._wake.set()

    def _work_for_ever(self) -> None:
        while True:
            self._wake.wait(PAUSE_S)
            self._wake.clear()
            with self._turn:
                asked = self._asked
            for work in self._works:
                try:
                    work()
                except Exception as error:  # whatever it is: the training goes on
                    say("metrics or progress cannot be written: {}".format(describe(error)))
            with self._turn:
                self._done = asked
                self._turn.notify_all()


def _make_folder(path: str) -> None:
    """One level only: a run folder that was removed must not come back half."""
    try:
        os.mkdir(path or ".")
    except FileExistsError:
        pass
