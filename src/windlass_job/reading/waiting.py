"""How much of its time a training waits for data: told in lines, and in a word when it is much.

Every ten seconds, after an hour every minute, gauges/data.LINK.RANK.jsonl of the run folder gets one of them:
{"t": ..., "wait_share": 0.02, "samples_s": 4600.1}. Written by a thread of its own, because a shared file system may
hang.
"""

import json
import os
import time

from windlass_job import wire
from windlass_job.bounded import say
from windlass_job.saving import metrics, world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Mapping, Optional

WINDOW_S = 10.0
LATER_S = 60.0
LATER_AFTER_S = 3600.0
MUCH = 0.1
NAME = "data.{link}.{rank}.jsonl"


class Waiting:
    """Counts seconds and samples. `share` is that of the whole training, the first batch of each epoch left out."""

    def __init__(self, env: "Mapping[str, str]", now: float) -> None:
        folder = env.get(wire.ENV_RUN_DIR)
        link, rank = world.read_order(env)[1], world.find_place(env)[0]
        self.path = os.path.join(folder, wire.GAUGES, NAME.format(link=link, rank=rank)) if folder else None
        self._rank = rank
        self._lines: "List[str]" = []
        self._writer = metrics.Writer([self.write])  # its thread starts with the first line
        self.waited_s = 0.0
        self.passed_s = 0.0
        self.samples = 0
        self._begun = now
        self._window = [now, 0.0, 0.0]  # since when, waited, samples
        self._last: "Optional[float]" = None
        self._has_told = False

    @property
    def share(self) -> float:
        return self.waited_s / self.passed_s if self.passed_s else 0.0

    def pause(self) -> None:
        """What passes until the next batch is not the training's time: an epoch ended."""
        self._last = None

    def count(self, given: float, waited_s: float, samples: int) -> None:
        """One batch: when it was handed over, and for how long the training stood still before."""
        if self._last is not None:
            self.waited_s += waited_s
            self.passed_s += given - self._last
            self._window[1] += waited_s
            self._window[2] += samples
        else:
            self._window = [given, 0.0, 0.0]
        self.samples += samples
        self._last = given
        if given - self._window[0] >= (WINDOW_S if given - self._begun < LATER_AFTER_S else LATER_S):
            self._close_window(given)

    def _close_window(self, now: float) -> None:
        begun, waited, samples = self._window
        share, rate = waited / (now - begun), samples / (now - begun)
        self._window = [now, 0.0, 0.0]
        if share > MUCH and self._rank == 0 and not self._has_told:
            self._has_told = True
            say(
                "the training waits for data {:.0%} of its time, at {:.0f} samples a second: more CPUs for each task, "
                "smaller images or a faster decoder would help".format(share, rate)
            )
        if self.path is not None:
            line = {"t": round(time.time()), "wait_share": round(share, 3), "samples_s": round(rate, 1)}
            self._lines.append(json.dumps(line, separators=(",", ":")) + "\n")
            self._writer.start()

    def write(self) -> None:
        """What has gathered; called by the writer's thread."""
        lines = [self._lines.pop(0) for _ in range(len(self._lines))]
        if not lines or self.path is None:
            return
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.write(handle, "".join(lines).encode("ascii"))
        finally:
            os.close(handle)

    def close(self) -> None:
        self._writer.flush(2.0)
