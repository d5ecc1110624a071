"""`rm`: a run forgotten, at the site and on the laptop."""

from windlass.app.refreshing import refresh_site
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Request
from windlass.errors import SiteNotReady, UsageError


def remove_run(session: Session, record: RunRecord) -> None:
    """Refuses a run that lives."""
    if not record.state.is_final:
        record = refresh_site(session, record.site, [record])[0]
    if not record.state.is_final:
        raise UsageError(
            f"run {record.run_id} is {record.state}",
            hint=f"windlass cancel {record.run_id}",
            done="nothing was removed",
        )
    _remove_folder(session, record)
    session.store.delete(record.run_id)


def forget_run(session: Session, word: str) -> str:
    """Its id. Only the laptop forgets it, also when what it knows of the run can no longer be read."""
    run_id = session.store.find_id(word)
    session.store.delete(run_id)
    return run_id


def _remove_folder(session: Session, record: RunRecord) -> None:
    request = Request(operation="remove_run", arguments={"root": record.root, "run_id": record.run_id})
    reply = session.host(session.site(record.site)).ask([request])[0]
    if not reply.ok and reply.kind != "not-found":
        raise SiteNotReady(
            f"the folder {record.folder} could not be removed: {reply.problem}",
            hint=f"windlass rm --keep-folder {record.run_id}",
            done="the laptop still knows the run",
        )
