"""A node's share of a farm, from the command line to the end: one pilot, or parts of it when tasks are short."""

import argparse
import gc
import os
import signal
import sys
from typing import Container, List, Mapping, Optional

from windlass_job import disk, wire
from windlass_job.bounded import PATIENCE_S, describe, say, within
from windlass_job.farming.entries import DiskStore, Ledger, Unsure
from windlass_job.farming.ledger import is_complete
from windlass_job.farming.node_parts import NodeParts
from windlass_job.farming.own_program import make_argv
from windlass_job.farming.parentage import end_with_parent
from windlass_job.farming.parts import WHOLE, Part, Seat, format_part, list_parts, read_part
from windlass_job.farming.pilot import Pilot
from windlass_job.farming.showing import tell_progress
from windlass_job.signals import Signals, read_signal

_MANY_VALUES = 50000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--farm", required=True, help="its folder")
    parser.add_argument("--stop-signal", default="TERM", help="what tasks get when they are to stop")
    parser.add_argument("--part", default=format_part(WHOLE), help="of this node's slots: 2/4 is the second of four")
    parser.add_argument("--whole", type=int, default=0, help="which start of the whole pilot this is a part of")
    parser.add_argument("--parent", type=int, default=0, help="the process that started this part")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    try:
        gc.set_threshold(_MANY_VALUES)  # of tasks, which come and go, and none of them in circles
        # Each lane waits for its own process: this thread is not woken for every one of a million.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))
        stop, part = read_signal(options.stop_signal), read_part(options.part)
        signals = Signals(notice=stop, cancel={signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
        if part != WHOLE:
            end_with_parent(signal.SIGTERM)
            if os.getppid() != options.parent:
                return 0  # it died before that, and nothing has begun here
        return _work(options, env, part, signals, stop)
    except (OSError, ValueError, Unsure) as error:
        say("the farm cannot be worked on: {}".format(describe(error)))
        return wire.EXIT_NOT_STARTED


def _work(options: argparse.Namespace, env: Mapping[str, str], part: Part, signals: Signals, stop: int) -> int:
    seat = Seat(part, options.whole, may_split=part == WHOLE)
    while True:
        pilot = Pilot(options.farm, env, stop, signals, seat)
        code = pilot.run()
        if code is not None:
            return code
        pilot.close()
        if pilot.split.is_due:
            argvs = [_make_argv(options, one, pilot.start_number) for one in list_parts(pilot.split.count)]
            codes = NodeParts(argvs, env=env, signals=signals).run()
            code = _find_code(options.farm, env, codes, signals)
            if code is not None:
                return code
            seat = seat._replace(may_split=0 in codes)  # else they would only fail again


def _find_code(farm: str, env: Mapping[str, str], codes: "Container[int]", signals: Signals) -> "Optional[int]":
    """With which the pilot ends when its parts have; None: it goes on. codes: of the parts."""
    if wire.EXIT_FENCED_OFF in codes:
        return wire.EXIT_FENCED_OFF  # as the whole would: begun anew it would take its successor for dead
    state = within(PATIENCE_S, Ledger(DiskStore(os.path.join(disk.as_path(farm), b"log"))).load)
    tell_progress(env, state)  # the part that told it may have left before the others
    if is_complete(state):
        print(wire.FARM_OVER, flush=True)
        return 0
    return 0 if signals.list_came() else None


def _make_argv(options: argparse.Namespace, part: Part, whole: int) -> "List[str]":
    words = [wire.FARM_VERB, "--farm", options.farm, "--stop-signal", options.stop_signal]
    words += ["--part", format_part(part), "--whole", str(whole), "--parent", str(os.getpid())]
    return make_argv(words, is_isolated=bool(sys.flags.isolated))
