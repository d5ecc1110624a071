"""How long the jobs of this run have lasted together, and what of its own limit is left: the laptop may sleep."""

import time
from typing import Any, Dict, Mapping, Optional

from windlass_job import slurm, wire


class Spending:
    def __init__(self, env: Mapping[str, str], allowed_s: Optional[float]) -> None:
        """allowed_s: by the user's limit for the run; None: there is none."""
        self._allowed_s = allowed_s if allowed_s and allowed_s > 0 else None
        now = time.time()
        began = float(slurm.read_number(env, "SLURM_JOB_START_TIME", 0))
        # By the controller's clock, which need not be ours: what cannot be is not believed.
        self._lead_s = now - began if 0 < now - began < 3600 else 0.0
        self._began = time.monotonic()
        self._before_s = 0.0
        self._notice_s = float(slurm.read_number(env, wire.ENV_NOTICE_S, 0))

    def begin_link(self, previous: Dict[str, Any]) -> None:
        """previous: the status that the link before has left."""
        told = previous.get("spent_s")
        if isinstance(told, (int, float)) and not isinstance(told, bool) and told > 0:
            self._before_s = float(told)

    @property
    def spent_s(self) -> float:
        """Of all links, this one too."""
        return self._before_s + self._lead_s + time.monotonic() - self._began

    @property
    def left_s(self) -> Optional[float]:
        return None if self._allowed_s is None else self._allowed_s - self.spent_s

    @property
    def is_too_little(self) -> bool:
        """At the start of a link: it would be asked to stop before it has done anything."""
        left = self.left_s
        return left is not None and left <= self._notice_s + wire.LEAST_LINK_S

    @property
    def until_notice_s(self) -> Optional[float]:
        """Until the command is to be asked to stop, so that it can save before the limit is reached."""
        left = self.left_s
        return None if left is None else left - self._notice_s

    @property
    def is_used_up(self) -> bool:
        left = self.left_s
        return left is not None and left <= 0
