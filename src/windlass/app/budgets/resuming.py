"""The user's own limits when a run is resumed: as they are set now, and refused where they are used up."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from windlass.app.budgets.counting import count_own_use
from windlass.app.session import Session
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.core.site import Site
from windlass.core.spending.amounts import Amount, format_amount
from windlass.core.spending.jobs import count_rate
from windlass.core.spending.limit import OwnLimit
from windlass.core.spending.own import HOUR_S, Scope, count_allowed_s, find_limit, list_limits
from windlass.edges.settings import load_run_spec
from windlass.errors import CheckFailed, WindlassError
from windlass_job import wire


def hold_to_limits(session: Session, record: RunRecord, plan: Plan, budget: Amount | None) -> Plan:
    """The plan with the limits of now; budget: a new one for the run. CheckFailed where one of them is used up."""
    site = session.site(record.site)
    limits = _with_budget(_load_limits(session, record, plan.limits), budget)
    _refuse_used_up(record, plan, find_limit(limits, Scope.RUN), site)
    for use in count_own_use(session, site, limits, name=record.name) or ():
        if use.is_used_up:
            hint = (
                f"raise budget.{use.limit.scope} in windlass.toml; windlass budget --on {site.name} shows what used it"
            )
            raise _make_failure("C705", record, use.words, hint)
    return replace(plan, limits=limits, allowed_s=count_allowed_s(limits, plan.size, site.accounting))


def _load_limits(session: Session, record: RunRecord, known: tuple[OwnLimit, ...]) -> tuple[OwnLimit, ...]:
    """As windlass.toml and config.toml have them today; as they were, where the project is not on this machine."""
    if not record.project or not Path(record.project).is_dir():
        return known
    try:
        spec, _ = load_run_spec(Path(record.project), record.site, session.environ)
    except WindlassError as problem:
        session.tell(f"the limits of [budget] are taken as they were: {problem.message}")
        return known
    return list_limits(spec.budget)


def _with_budget(limits: Sequence[OwnLimit], budget: Amount | None) -> tuple[OwnLimit, ...]:
    if budget is None:
        return tuple(limits)
    others = [one for one in limits if one.scope != Scope.RUN]
    return (OwnLimit(scope=str(Scope.RUN), hours=budget.hours, unit=budget.unit), *others)


def _refuse_used_up(record: RunRecord, plan: Plan, limit: OwnLimit | None, site: Site) -> None:
    rate = count_rate(plan.size, limit.unit, site.accounting) if limit and plan.size else None
    used = (record.spent_s or 0.0) / HOUR_S * (rate or 0.0)
    # As the agent judges it at the start of a link.
    least = (plan.notice.total_seconds() + wire.LEAST_LINK_S) / HOUR_S * (rate or 0.0)
    if limit is None or rate is None or used + least < limit.hours:
        return
    amount, words = format_amount(limit.hours, limit.unit), format_amount(used, limit.unit)
    more = format_amount(limit.hours * 2, limit.unit)
    hint = f'windlass resume {record.run_id} --budget "{more}"'
    raise _make_failure("C704", record, f"budget.run of {amount} is used up ({words})", hint)


def _make_failure(code: str, record: RunRecord, words: str, hint: str) -> CheckFailed:
    return CheckFailed(
        f"run {record.run_id} was not resumed: {words}",
        details=[f"{code}  {words}"],
        hint=hint,
        done="nothing was sent",
    )
