"""The words of one link for the laptop: status.json, kept as it grows, and how long to wait until it is written."""

import time
from typing import Any, Dict, List, Mapping, Optional

from windlass_job import slurm, wire
from windlass_job.agent.spending import Spending
from windlass_job.claims import Claim
from windlass_job.events import Recorder

_MOST_MODULES = 200  # one job has a dozen


def list_modules(env: Mapping[str, str]) -> List[str]:
    """What is really loaded, with versions: a module brings others, and a name without a version means the default."""
    return [name for name in env.get("LOADEDMODULES", "").split(":") if name][:_MOST_MODULES]


class Report:
    def __init__(self, recorder: Recorder, env: Mapping[str, str], patience_s: float, spending: Spending) -> None:
        self.spending = spending
        self._recorder = recorder
        self._env = env
        self._patience_s = patience_s
        self.status: Dict[str, Any] = {}

    def begin(self, claim: Claim, *, is_attempt: bool = True) -> None:
        """Every key from the start: a thread that fills one in must not change the size of what another copies."""
        self.status = {
            "schema": wire.PROTOCOL,
            "link": claim.link,
            "links": slurm.read_number(self._env, wire.ENV_LINKS, 1),
            "submission": claim.submission,
            "job": slurm.get_job(self._env),
            "attempt": claim.attempt if is_attempt else None,
            "node": slurm.load_node(self._env),
            "started": time.time() if is_attempt else None,
            "ended": None,
            "exit_code": None,
            "signal": None,
            "stop_requested": None,
            "stop_why": None,
            "reason": None,
            "successors": [],
            "tries": 0,
            "progress": None,
            "mark": None,
            "saved": None,
            "stalled": 0,
            "modules": list_modules(self._env),
        }

    def put(self, state: str, *, is_last: bool = False, **values: Any) -> None:
        now = time.time()
        self.status.update(values)
        status = dict(self.status, state=state, updated=now, heartbeat=now, spent_s=round(self.spending.spent_s, 1))
        self._recorder.status(status, self.get_last_s() if is_last else None)

    def flush(self, limit_s: Optional[float] = None) -> None:
        self._recorder.flush(self._patience_s / 3 if limit_s is None else limit_s)

    def get_last_s(self) -> float:
        """How long we stay for the last word: never longer than the job has left."""
        left = slurm.read_time_left(self._env)
        longest = self._patience_s * 2 / 3
        return longest if left is None else min(longest, left)
