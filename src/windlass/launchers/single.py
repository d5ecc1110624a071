"""One process on the first node: the command as it is."""

from windlass.core.launch import Launcher, Sight
from windlass.core.plan import Plan
from windlass.launchers.seeing import find_inner_starter
from windlass.launchers.tasks import make_task


def make_argv(plan: Plan) -> tuple[str, ...]:
    return make_task(plan, plan.command)


def recognise(sight: Sight) -> str | None:
    return "one process" if sight.is_alone else find_inner_starter(sight)


SINGLE = Launcher(
    name="single",
    summary="one process on the first node",
    task_for_each_process=False,
    recognise=recognise,
    make_argv=make_argv,
)
