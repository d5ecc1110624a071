"""What was fetched at a site for nodes without internet."""

from collections.abc import Sequence

from windlass.core.codec import from_json
from windlass.core.prefetched import Prefetched
from windlass.core.shell import quote_all
from windlass.edges.host import Host, Request, make_command, read_completed
from windlass.errors import PrefetchFailed
from windlass_job import wire


def fetch_prefetched(
    host: Host, root: str, card: str, homes: Sequence[str]
) -> tuple[Prefetched | None, frozenset[str]]:
    """The card of that name, and which of these folders below home are there; one round trip."""
    path = f"{root}/{wire.CACHES}/{card}"
    read = Request(operation="read", arguments={"path": path}, idempotent=True)
    look = make_command(["sh", "-c", f"cd && ls -d {quote_all(homes)} 2>/dev/null"], timeout_s=20, idempotent=True)
    reply, listed = host.ask([read, look])
    found = from_json(reply.payload, Prefetched, error=PrefetchFailed, what=path) if reply.ok else None
    return found, frozenset(read_completed(listed).out.split("\n")) & frozenset(homes)
