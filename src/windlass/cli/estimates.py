"""When a plan would start, and cheaper ones: asked, and shown under the plan."""

import time

from windlass.app.planning import Planned
from windlass.app.session import Session
from windlass.cli.output import Output
from windlass.core.seen.estimates import Estimates
from windlass.errors import WindlassError


def estimate_start(output: Output, session: Session, planned: Planned) -> Estimates | None:
    """Not of a plan that will not be sent, nor of a site that was not reached."""
    if planned.errors or planned.note:
        return None
    from windlass.app.estimating import estimate_variants

    try:
        return estimate_variants(session, planned.site, planned.plan)
    except WindlassError as problem:
        output.tell(f"note: the start was not estimated: {problem.message}")
        return None


def show_estimates(output: Output, estimates: Estimates | None) -> None:
    if estimates is None:
        return
    from windlass.cli.estimate_words import format_estimates

    first, *others = format_estimates(estimates, time.time())
    output.tell(f"{'start':<10} {first}")
    for line in others:
        output.tell(f"{'':<10} {line}")
