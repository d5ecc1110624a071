"""The parts of a pilot as processes: started, told to stop, started anew when they are killed, and waited for."""

import os
import signal
import subprocess
from typing import Dict, List, Mapping, Sequence, Set

from windlass_job.bounded import describe, say
from windlass_job.farming.spawning import kill_all
from windlass_job.farming.strays import end_strays, find_children
from windlass_job.signals import Signals

_TICK_S = 0.5
_MOST_STARTS = 4  # of one part


class NodeParts:
    def __init__(self, argvs: "Sequence[List[str]]", *, env: "Mapping[str, str]", signals: Signals) -> None:
        """argvs: one a part."""
        self._argvs, self._env, self._signals = argvs, dict(env), signals
        self._running: "Dict[int, subprocess.Popen[bytes]]" = {}  # by the number of the part
        self._codes: "Dict[int, int]" = {}  # how each ended last
        self._starts = [0] * len(argvs)
        self._passed_on = 0  # how many signals

    def run(self) -> "Set[int]":
        """Until all have left: how they ended, those that could be started."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD,))  # wakes the wait below
        try:
            for part in range(len(self._argvs)):
                self._start(part)
            while self._running:
                self._signals.wait(_TICK_S)
                self._pass_on()
                self._take_ends()
            return set(self._codes.values())
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD,))

    def _start(self, part: int) -> None:
        """What one that cannot be started would do is done by the others."""
        self._starts[part] += 1
        try:
            self._running[part] = subprocess.Popen(self._argvs[part], env=self._env, stdin=subprocess.DEVNULL)
        except OSError as error:
            say("part {} of this pilot cannot be started: {}".format(part + 1, describe(error)))

    def _pass_on(self) -> None:
        for number in self._signals.list_came()[self._passed_on :]:
            self._passed_on += 1
            for child in self._running.values():
                child.send_signal(number)

    def _take_ends(self) -> None:
        ended = [part for part, child in self._running.items() if child.poll() is not None]
        self._codes.update((part, self._running.pop(part).returncode) for part in ended)
        self._end_orphans()
        for part in ended:
            if self._codes[part] < 0 and not self._signals.list_came() and self._starts[part] < _MOST_STARTS:
                self._start(part)

    def _end_orphans(self) -> None:
        """Tasks of a part that was killed are our children now, and run again elsewhere."""
        orphans = set(find_children(os.getpid())) - {child.pid for child in self._running.values()}
        for pid in orphans:
            kill_all(pid, signal.SIGKILL)
        end_strays(orphans)
