"""How processes start: what a launcher of the catalogue must say."""

from collections.abc import Callable
from dataclasses import dataclass

from windlass.core.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Launcher:
    name: str
    summary: str
    task_for_each_gpu: bool  # else one task a node
    starts_the_rest: bool = False  # the one task starts a process for each GPU, and they share its cores
    make_argv: Callable[[Plan], tuple[str, ...]]  # what the agent runs on the first node
