"""Samplers beside the command: one process here, or one on every node by srun. Nothing waits for them."""

import threading
from typing import List, Mapping, Optional

from windlass_job import slurm, wire
from windlass_job.bounded import describe, say

TYPE_CHECKING = False
if TYPE_CHECKING:  # imported where it is needed: the command is not to wait for it
    from windlass_job.staging.crew import Crew

_AFTER_S = 1.0  # what ends at once needs none
_AFTER_MANY_S = 10.0  # on several nodes, when the command has started on all of them
_LEAVE_S = 1.0  # for the last row


class Samplers:
    """Never raises, never holds up the command."""

    def __init__(self, env: Mapping[str, str], *, interval_s: float, gpus: int) -> None:
        """gpus: how many each node has by the plan."""
        self._env = env
        self._words: List[str] = [wire.GAUGES_VERB, "--interval={:g}".format(interval_s), "--gpus={}".format(gpus)]
        has_many = slurm.read_number(env, "SLURM_JOB_NUM_NODES", 1) > 1 and not env.get(wire.ENV_POCKET_JOB)
        self._after_s = min(_AFTER_MANY_S if has_many else _AFTER_S, interval_s)
        self._is_over = threading.Event()
        self._crew: "Optional[Crew]" = None
        threading.Thread(target=self._start, daemon=True).start()

    def end(self) -> None:
        """They write their last row and go."""
        self._is_over.set()
        if self._crew is not None:
            self._crew.close()

    def leave(self) -> None:
        """After `end`, when nothing else is left to do."""
        if self._crew is not None:
            self._crew.has_ended.wait(_LEAVE_S)
            self._crew.kill()

    def _start(self) -> None:
        if self._is_over.wait(self._after_s):
            return
        from windlass_job.staging import crew

        try:
            self._crew = crew.start(self._env, self._words)
            self._crew.has_ended.wait()
            if self._crew.is_too_new and not self._is_over.is_set():
                self._crew = crew.start(self._env, self._words, is_overlap_known=False)
        except OSError as error:
            say("nothing is sampled: {}".format(describe(error)))
