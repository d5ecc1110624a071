"""What `--plan` says of a farm, or of a sweep, whose trials are the tasks of one."""

from typing import TYPE_CHECKING

from windlass.cli.estimates import estimate_start, show_estimates
from windlass.cli.output import Output
from windlass.cli.words import format_place
from windlass.errors import ExitCode

if TYPE_CHECKING:
    from windlass.app.farms.starting import PlannedFarm
    from windlass.app.session import Session


def show_farm_plan(output: Output, session: "Session", farm: "PlannedFarm", *, count: int, first: str | None) -> int:
    """With when a pilot would start, and a smaller or shorter one: such a one may find a gap that others leave.

    first: the command of the first task; None: not known yet.
    """
    estimates = estimate_start(output, session, farm.planned)
    if output.as_json:
        output.show_json({"tasks": count, "size": farm.size, "plan": farm.planned.plan, "estimates": estimates})
    else:
        output.tell(f"{'tasks':<10} {count}" + (f", the first: {first}" if first else ""))
        output.tell(f"{'where':<10} {format_place(farm.planned.plan)}")
        for reason in (*farm.size.reasons, *farm.planned.plan.reasons):
            output.tell(f"{'chosen':<10} {reason.field} = {reason.value}: {reason.why}")
        show_estimates(output, estimates)
        output.tell("nothing was sent")
    return int(ExitCode.CHECK_FAILED if farm.planned.errors else ExitCode.OK)
