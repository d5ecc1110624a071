"""The sampler: one on every node, from when the command starts until the agent has ended.

The agent holds its standard input open, and srun hands that to all nodes: when it ends, so does the job. Signals are
for the command, which may need long to save what it has. A sampler never costs more than a thousandth of a core.
"""

import argparse
import os
import resource
import select
import signal
import time
from typing import Any, Dict, Mapping, NamedTuple

from windlass_job import slurm, wire
from windlass_job.bounded import describe, say
from windlass_job.events import append_line
from windlass_job.gauging.cards import open_cards
from windlass_job.gauging.rows import Sheet, Window
from windlass_job.gauging.samples import Node

SHARE = 0.001  # of a core
LONGEST_PAUSE_S = 600.0
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

Pace = NamedTuple("Pace", [("pause_s", float), ("samples_a_row", int)])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--interval", type=float, default=15.0, help="seconds")
    parser.add_argument("--gpus", type=int, default=0, help="how many this node should have")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    folder = env.get(wire.ENV_RUN_DIR)
    if not folder:
        say("{} is not set: nothing is sampled".format(wire.ENV_RUN_DIR))
        return 0
    try:
        os.nice(5)  # the training first
    except OSError:
        pass
    path = os.path.join(folder, wire.GAUGES, slurm.load_node(env) + ".jsonl")
    Sampler(path, env, options).run()
    return 0


def find_pace(age_s: float, interval_s: float) -> Pace:
    """Short runs are seen too, and long ones stay short on paper: after an hour four samples are one row."""
    if age_s < 8 * interval_s:
        return Pace(interval_s / 3, 1)
    return Pace(interval_s, 1) if age_s < 240 * interval_s else Pace(interval_s, 4)


def find_pause(pace: Pace, cost_s: float) -> float:
    """Where a look costs much, the next one comes later."""
    return min(max(pace.pause_s, cost_s / SHARE), LONGEST_PAUSE_S)


class Sampler:
    def __init__(self, path: str, env: Mapping[str, str], options: argparse.Namespace) -> None:
        self._path = path
        self._interval_s = options.interval
        self._node = Node(env, open_cards(env, options.gpus))
        self._window = Window(self._node.cores)
        self._sheet = Sheet(_describe(env), is_coarse=options.interval >= 3)

    def run(self) -> None:
        """Until the input ends; the last row is written then."""
        try:
            os.mkdir(os.path.dirname(self._path))
        except OSError:
            pass  # it is there, or the first row will say why it is not
        began = time.monotonic()
        self._look(is_row=True)
        cost_s, is_over = 0.0, False  # much was opened for the first time: what that cost is no measure
        while not is_over:
            pace = find_pace(time.monotonic() - began, self._interval_s)
            is_over = _wait_for_end(find_pause(pace, cost_s))
            before = _count_cpu_s()
            self._look(is_row=is_over or len(self._window) + 1 >= pace.samples_a_row, is_last=is_over)
            cost_s = _count_cpu_s() - before

    def _look(self, *, is_row: bool, is_last: bool = False) -> None:
        try:
            self._window.add(self._node.look(is_row=is_row, is_last=is_last))
            if is_row:
                self._sheet.about.update(self._node.describe())
                append_line(self._path, b"".join(self._sheet.format(self._window.close())))
        except Exception as error:  # whatever it is: the next look may succeed
            say("cannot keep samples of this node in {}: {}".format(self._path, describe(error)))


def _describe(env: Mapping[str, str]) -> Dict[str, Any]:
    return {"job": slurm.get_job(env), "link": slurm.read_number(env, wire.ENV_LINK, 1)}


def _wait_for_end(seconds: float) -> bool:
    """True when the input has ended; whatever else comes there is no order for us."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([0], [], [], max(0.0, left))
        if not ready:
            return False
        if not os.read(0, 4096):
            return True


def _count_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
