"""What was fetched at a site for nodes without internet."""

from collections.abc import Sequence

from windlass.core.codec import from_json
from windlass.core.prefetched import DamagedCard, Prefetched
from windlass.core.shell import quote_all
from windlass.edges.host import Host, Reply, Request, make_command, read_completed
from windlass.errors import PrefetchFailed
from windlass_job import wire


def fetch_prefetched(
    host: Host, root: str, card: str, homes: Sequence[str]
) -> tuple[Prefetched | DamagedCard | None, frozenset[str]]:
    """The card of that name, and which of these folders below home are there; one round trip."""
    path = f"{root}/{wire.CACHES}/{card}"
    read = Request(operation="read", arguments={"path": path}, idempotent=True)
    look = make_command(["sh", "-c", f"cd && ls -d {quote_all(homes)} 2>/dev/null"], timeout_s=20, idempotent=True)
    reply, listed = host.ask([read, look])
    return _read_card(reply, path), frozenset(read_completed(listed).out.split("\n")) & frozenset(homes)


def _read_card(reply: Reply, path: str) -> Prefetched | DamagedCard | None:
    if not reply.ok:
        return None if reply.kind == "not-found" else DamagedCard(problem=f"{path} cannot be read: {reply.problem}")
    try:
        return from_json(reply.payload, Prefetched, error=PrefetchFailed, what=path)
    except PrefetchFailed as damage:
        return DamagedCard(problem=damage.message)
