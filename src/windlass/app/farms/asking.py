"""What the site is asked about a farm: the deputy's operations, with its refusals in words."""

from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Json, Reply, Request
from windlass.errors import RunFolderGone, SiteNotReady, UsageError


def ask_farm(
    session: Session, record: RunRecord, operation: str, arguments: Json | None = None, *, payload: bytes = b""
) -> Reply:
    """All of these may be asked twice: what they change is changed once."""
    request = Request(
        operation=operation,
        arguments={"folder": record.folder, **(arguments or {})},
        payload=payload,
        idempotent=True,
    )
    (reply,) = session.host(session.site(record.site)).ask([request])
    if reply.ok:
        return reply
    if reply.kind == "not-found":
        raise RunFolderGone(f"run {record.run_id} has no farm at {record.site}: {reply.problem}", hint="windlass ps")
    raise SiteNotReady(f"the farm {record.run_id} at {record.site}: {reply.problem or reply.kind}")


def find_lead(session: Session, record: RunRecord) -> RunRecord:
    """The run whose folder holds the farm."""
    if record.farm is None:
        raise UsageError(f"run {record.run_id} is no farm", hint="windlass farm run starts one")
    return record if record.farm == record.run_id else session.store.load(record.farm)


def list_pilots(session: Session, lead: RunRecord) -> tuple[RunRecord, ...]:
    """All runs that work or worked on it, the lead among them, as far as this laptop knows; oldest first."""
    return tuple(sorted(session.store.pilots([lead.run_id]), key=lambda one: (one.created, one.run_id)))
