"""Tasks stopped and tried again; the whole farm closed and opened."""

from collections.abc import Iterable

from windlass.app.farms.asking import ask_farm
from windlass.app.session import Session
from windlass.core.record import RunRecord


def stop_tasks(session: Session, record: RunRecord, tasks: Iterable[int]) -> None:
    """They are not started any more; those that run are ended."""
    ask_farm(session, record, "farm_stop", {"tasks": sorted(tasks)})


def retry_failed(session: Session, record: RunRecord, tasks: Iterable[int] | None = None) -> tuple[int, ...]:
    """The tasks that will run again: of those named, or of all, the ones that have failed for good."""
    asked = None if tasks is None else sorted(tasks)
    return tuple(ask_farm(session, record, "farm_retry", {"tasks": asked}).values["tasks"])


def close_farm(session: Session, record: RunRecord) -> None:
    """No task is started any more; pilots leave when what they run has ended."""
    ask_farm(session, record, "farm_turn", {"is_closed": True})


def open_farm(session: Session, record: RunRecord) -> None:
    ask_farm(session, record, "farm_turn", {"is_closed": False})
