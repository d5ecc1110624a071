"""The card of a service in a run: where it listens, what it warns of, and the word that lets its user in."""

from windlass.app.session import Session
from windlass.core.codec import from_json
from windlass.core.record import RunRecord
from windlass.core.services.card import Card
from windlass.edges.host import Request
from windlass.errors import ServiceFailed
from windlass_job import wire


def load_card(session: Session, record: RunRecord) -> Card | None:
    """None: it has not begun yet, or this run is no service."""
    content = _read(session, record, wire.SERVICE_CARD)
    return None if content is None else from_json(content, Card, error=ServiceFailed, what="the card of the service")


def load_token(session: Session, record: RunRecord) -> str:
    """Over the channel, and kept nowhere here."""
    content = _read(session, record, wire.SERVICE_TOKEN)
    if not content:
        raise ServiceFailed(f"run {record.run_id} has no token: it is no notebook, or its files were removed")
    return content.decode("ascii", "replace").strip()


def _read(session: Session, record: RunRecord, name: str) -> bytes | None:
    path = f"{record.folder}/{wire.SERVICE}/{name}"
    [reply] = session.host(session.site(record.site)).ask(
        [Request(operation="read", arguments={"path": path}, idempotent=True)]
    )
    return reply.payload if reply.ok else None
