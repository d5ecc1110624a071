"""The marker in a run folder by which its links know that they must not start any more."""

from collections.abc import Iterable

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Request


def make_stop_marker(record: RunRecord) -> Request:
    arguments = {"folder": record.folder, "number": record.submissions[-1].number}
    return Request(operation="touch_stop", arguments=arguments, idempotent=True)


def mark_as_stopped(session: Session, site: str, records: Iterable[RunRecord]) -> None:
    """Before they are cancelled: what leaves by itself between the steps of that is not taken for finished.

    Nothing is said where it cannot be done: who cancels marks each again, and tells.
    """
    markers = [make_stop_marker(one) for one in records if one.submissions]
    if markers:
        session.host(session.site(site)).ask(markers)
