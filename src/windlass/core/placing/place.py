"""A wish, and a place where it could be granted: a queue, who pays there, and with which QOS."""

from dataclasses import dataclass
from datetime import timedelta

from windlass.core.facts import Association
from windlass.core.placing.access import Level, Limit
from windlass.core.placing.queues import Queue
from windlass.core.placing.shapes import Shape
from windlass.core.plan import Reason
from windlass.core.run import Resources


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is to be placed."""

    resources: Resources
    total: timedelta
    notice: timedelta = timedelta(0)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A queue, who pays there, and with which QOS."""

    queue: Queue
    shape: Shape
    account: Reason | None = None
    association: Association | None = None
    level: Level | None = None  # None: nothing is known of any QOS
    levels: tuple[Level, ...] = ()  # all whose limits hold: the job's and the partition's
    limits: tuple[Limit, ...] = ()
    links: int = 1
    problem: str | None = None  # a rule of Slurm's that the run would break here
