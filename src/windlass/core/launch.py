"""How processes start: what a launcher of the catalogue must say."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from windlass.core.plan import Plan
from windlass.core.source.reach import Reached


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What a launcher may look at to say whether the code is made for it."""

    reached: Reached  # what the command leads to
    command: str
    nodes: int
    processes_per_node: int

    @property
    def is_alone(self) -> bool:
        return self.nodes == 1 and self.processes_per_node == 1


def never(sight: Sight) -> str | None:
    """Chosen only by its word in windlass.toml."""
    return None


def no_variables(plan: Plan) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Launcher:
    name: str
    summary: str
    task_for_each_process: bool  # else one task a node
    starts_the_rest: bool = False  # the one task starts the other processes of its node, and they share its cores
    recognise: Callable[[Sight], str | None] = never  # why the code wants it, in words; the first of the catalogue wins
    make_argv: Callable[[Plan], tuple[str, ...]]  # what the agent runs on the first node
    # What every process gets, exported by the script; the site's network variables come before, the user's after.
    make_env: Callable[[Plan], Mapping[str, str]] = no_variables
