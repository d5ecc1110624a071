"""At the end of a link: what is left, by the pace that was measured, and what that means for the links that wait.

Where less than one link is left to do, those that wait ask for less time, so that they start sooner. Links beyond the
need stay in the queue: they leave by themselves when the training is done.
"""

import math
from typing import Any, Callable, Dict, Mapping, Optional

from windlass_job import slurm, wire
from windlass_job.events import Recorder

MARGIN = 0.2  # of the work that is left: nodes differ
LEAST_LIMIT_S = 120.0  # shorter jobs do not start any sooner
WORTH_IT = 0.9  # of the limit that there is: for less it is left alone


def go_on(
    env: Mapping[str, str],
    status: Mapping[str, Any],
    recorder: Recorder,
    is_told_to_end: Callable[[], bool] = lambda: False,
) -> None:
    """Called at a cut, when the status is written: the links that wait are replanned and, where links are starts of
    one job, this job is put back into the queue, which ends it. Raises nothing that the status needs.
    """
    link, last = slurm.read_number(env, wire.ENV_LINK, 1), slurm.read_number(env, wire.ENV_LINKS, 1)
    if link >= last:
        return
    rest = _plan_rest(env, status, last - link)
    limit_s = rest["time_limit_s"] if rest else None
    if rest:
        recorder.event(wire.REPLANNED, **rest)
    if env.get(wire.ENV_CHAIN) == "requeue":
        problem = slurm.requeue(env, limit_s)
        if not is_told_to_end():  # Slurm ends a job that it has put back, and scontrol with it
            _note(recorder, "the next link is not in the queue as planned: ", problem)
        return
    later = slurm.list_later_jobs(env)
    if limit_s and later:
        _note(recorder, "the links that wait keep their time: ", slurm.limit_jobs(later, limit_s))


def plan_rest(
    progress: Mapping[str, Any], started: Optional[float], link_s: float, notice_s: float, links_left: int
) -> Optional[Dict[str, Any]]:
    """The figures of the event `replanned`; None while the training has told too little.

    time_limit_s: what each waiting link should ask for, None: as it is. links_needed may be more than links_left.
    """
    told = [_number(progress.get(name)) for name in ("done", "of", "t", "first_done", "first_t")]
    if any(value is None for value in told):
        return None
    done, of, at, first_done, first_at = [value or 0.0 for value in told]
    if done <= first_done or at <= first_at or of <= done:
        return None
    unit_s = (at - first_at) / (done - first_done)
    warm_up_s = max(0.0, first_at - started) if started else 0.0
    needs_s = (of - done) * unit_s
    useful_s = link_s - notice_s - warm_up_s
    if useful_s <= 0:
        return None
    with_margin_s = needs_s + max(MARGIN * needs_s, unit_s)
    limit_s = max(LEAST_LIMIT_S, 2 * notice_s, warm_up_s * (1 + MARGIN) + with_margin_s + notice_s)
    return {
        "unit_s": round(unit_s, 3),
        "left": of - done,
        "needs_s": round(needs_s),
        "links_needed": math.ceil(needs_s / useful_s),
        "links_left": links_left,
        "time_limit_s": math.ceil(limit_s / 60) * 60 if limit_s < WORTH_IT * link_s else None,
    }


def _plan_rest(env: Mapping[str, str], status: Mapping[str, Any], links_left: int) -> Optional[Dict[str, Any]]:
    progress = status.get("progress")
    link_s = float(slurm.read_number(env, wire.ENV_LINK_S, 0))
    if not isinstance(progress, dict) or progress.get("link") != status.get("link") or link_s <= 0:
        return None
    notice_s = float(slurm.read_number(env, wire.ENV_NOTICE_S, 0))
    return plan_rest(progress, _number(status.get("started")), link_s, notice_s, links_left)


def _note(recorder: Recorder, words: str, problem: Optional[str]) -> None:
    if problem:
        recorder.note(words + problem)


def _number(value: object) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
