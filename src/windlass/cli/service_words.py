"""What is said of a service when its command leaves: that the job goes on, what it costs, how it is stopped."""

from datetime import timedelta

from windlass.app.record_words import format_clock
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.core.services.card import Card
from windlass.core.site import CostUnit
from windlass.core.units import format_human_duration


def format_rate(plan: Plan) -> str:
    """Such as: 4 core-hours for every hour. Empty where nothing is charged, or nobody knows."""
    hours = plan.link_time.total_seconds() / 3600
    if plan.cost.unit in (CostUnit.NONE, CostUnit.UNKNOWN) or not hours:
        return ""
    return f"{plan.cost.one_link / hours:.3g} {plan.cost.unit} for every hour"


def format_leaving(record: RunRecord, plan: Plan, card: Card | None, *, now: float) -> list[str]:
    """Line by line; the first says that it goes on."""
    latest = (record.started or now) + plan.link_time.total_seconds()
    rate = format_rate(plan)
    goes_on = "is in the queue still" if record.started is None else f"goes on until {format_clock(latest)} at most"
    costs = f", and costs {rate}" if rate else ""
    lines = [f"run {record.run_id} {goes_on}{costs}"]
    if card is not None and card.idle_after_s:
        idle = format_human_duration(timedelta(seconds=card.idle_after_s))
        lines.append(f"it ends by itself when no cell has run for {idle}")
    return [*lines, f"stop it: windlass cancel {record.run_id}     come back: windlass jupyter {record.run_id}"]
