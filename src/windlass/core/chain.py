"""Cutting a long training into links that fit the wall-clock limit, and which jobs they become."""

from dataclasses import dataclass, replace
from datetime import timedelta

from windlass.core.plan import Plan
from windlass.core.run import Checkpoint
from windlass.core.site import ChainStyle
from windlass.errors import PlanError

DEFAULT_NOTICE = timedelta(seconds=120)
SHORT_NOTICE = timedelta(seconds=10)  # enough for the agent's last word

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Links:
    count: int
    time: timedelta  # of each


def cut_into_links(total: timedelta, limit: timedelta | None, notice: timedelta) -> Links:
    """As few links as the limit allows, each no longer than needed: short jobs start sooner.

    Each link gives up `notice` at its end for saving, at most half of it, so that much is added to what it must hold.
    """
    if total <= timedelta(0) or (limit is not None and limit <= timedelta(0)):
        # Slurm reads --time=0 as: without a limit.
        raise PlanError("a job needs some time", hint='[resources] time = "12h"', about="time")
    if limit is None or total <= limit:
        return Links(count=1, time=_whole_minutes(total, at_most=limit))
    saving = min(notice, limit / 2)
    count = -(-total // (limit - saving))  # whole numbers, rounded up: no link too few by a microsecond
    return Links(count=count, time=_whole_minutes(-(-total // count) + saving, at_most=limit))


def choose_notice(checkpoint: Checkpoint, link_time: timedelta, *, is_chain: bool) -> timedelta:
    """How long before its end a job is asked to stop: the user's own word, at most half of the job.

    Saving needs time; where nothing says that anything is saved, the time belongs to the training. Slurm looks every
    half minute, and the signal may come a minute early, however short this is.
    """
    if checkpoint.notice is not None:
        return min(checkpoint.notice, link_time / 2)
    if checkpoint.folder is not None:
        return min(DEFAULT_NOTICE, link_time / 4)
    # A chain makes no sense without saving: such a training knows its folder, and only did not name it.
    longest = min(DEFAULT_NOTICE if is_chain else SHORT_NOTICE, link_time / 20)
    return max(_SECOND, longest // _SECOND * _SECOND)


def list_submissions(plan: Plan) -> tuple[Plan, ...]:
    """The plan of each sbatch: one for a whole array or a job that is queued again, one a link by dependency.

    What the user wants to wait for holds for the first; each later one waits for the one before it.
    """
    if plan.chain is not ChainStyle.DEPENDENCY or plan.links == 1:
        return (plan,)
    return tuple(
        replace(
            plan,
            number=plan.number + place,
            first_link=plan.first_link + place,
            links=1,
            links_before=place,
            links_after=plan.links - 1 - place,
            dependency=plan.dependency if place == 0 else None,
        )
        for place in range(plan.links)
    )


def _whole_minutes(time: timedelta, *, at_most: timedelta | None) -> timedelta:
    """Slurm counts limits in minutes and rounds up; under a minute we leave it as it is."""
    step = _SECOND if time < _MINUTE else _MINUTE
    rounded = -(-time // step) * step
    return rounded if at_most is None else min(rounded, at_most)
