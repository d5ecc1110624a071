"""Rows and cells of tables. Apart from `words`, because `ps` must start fast and needs no plan for it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from windlass.app.record_words import format_ago, format_why
from windlass.core.record import RunRecord

if TYPE_CHECKING:
    from windlass.core.farm.values import FarmStatus

PS_HEAD = ("RUN", "SITE", "STATE", "LINK", "JOB", "AGE", "WHY")


def make_row(record: RunRecord, now: float, farm: "FarmStatus | None" = None) -> tuple[str, ...]:
    bare = replace(record, tasks_failed=None, tasks_stopped=None, progress_done=None)
    why = format_why(record if farm is None else bare)
    if farm is not None:
        ended = ((farm.failed, "failed"), (farm.stopped, "stopped"))
        bad = "".join(f", {count} {word}" for count, word in ended if count)
        why = "; ".join(part for part in (f"{farm.done} of {farm.total} tasks{bad}", why) if part)
    link = f"{record.link or 0}/{record.links}" if record.links > 1 else ""
    return (
        record.run_id,
        record.site,
        record.state.value,
        link,
        record.job_id or "",
        format_ago(now - record.created),
        why,
    )


def format_nodes(there: int | None, most: int | None) -> str:
    """How many nodes there are; with what one job may have of them, where that is less."""
    if there is None or most is None:
        return str(there or most or "")
    return f"{most} of {there}" if most < there else str(there)
