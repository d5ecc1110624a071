"""What one task printed: found at the site by its index, so that no other's output travels."""

from collections.abc import Iterator

from windlass.app.farms.asking import ask_farm
from windlass.app.session import Session
from windlass.core.record import RunRecord
from windlass.edges.host import Request, expect
from windlass.errors import RunFolderGone

_CHUNK = 4_000_000


def load_output(session: Session, record: RunRecord, task: int) -> Iterator[bytes]:
    """All of it, attempt after attempt, in pieces."""
    host = session.host(session.site(record.site))
    for piece in ask_farm(session, record, "farm_output", {"task": task}).values["pieces"]:
        at, end = int(piece["from"]), int(piece["from"]) + int(piece["bytes"])
        while at < end:
            arguments = {"path": piece["path"], "from_byte": at, "limit": min(_CHUNK, end - at)}
            reply = host.ask([Request(operation="read", arguments=arguments, idempotent=True)])[0]
            content = expect(reply, RunFolderGone, f"the output of task {task} cannot be read").payload
            if not content:
                break
            yield content
            at += len(content)
