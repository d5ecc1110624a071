"""What was fetched at a site for nodes without internet."""

from windlass.core.codec import from_json
from windlass.core.offline import list_home_patterns, list_homes, list_moving
from windlass.core.prefetched import DamagedCard, Prefetched
from windlass.core.shell import quote_all
from windlass.edges.host import Host, Reply, Request, make_command, read_completed
from windlass.errors import PrefetchFailed
from windlass_job import wire

_LOOK = "\n".join(
    (
        *(f"[ -z \"${{{name}:-}}\" ] || echo '${name}'" for name in list_moving()),
        f"cd && ls -d {quote_all(list_homes())} {' '.join(list_home_patterns())} 2> /dev/null",
    )
)


def fetch_prefetched(
    host: Host, root: str, card: str
) -> tuple[Prefetched | DamagedCard | None, frozenset[str], frozenset[str]]:
    """The card of that name, what libraries keep below home, and the variables that move it; one round trip."""
    path = f"{root}/{wire.CACHES}/{card}"
    read = Request(operation="read", arguments={"path": path}, idempotent=True)
    look = make_command(["sh", "-c", _LOOK], timeout_s=20, idempotent=True)
    reply, listed = host.ask([read, look])
    told = frozenset(read_completed(listed).out.split("\n"))
    return (
        _read_card(reply, path),
        frozenset(one for one in told if one.startswith(list_homes())),
        frozenset(one for one in list_moving() if f"${one}" in told),
    )


def _read_card(reply: Reply, path: str) -> Prefetched | DamagedCard | None:
    if not reply.ok:
        return None if reply.kind == "not-found" else DamagedCard(problem=f"{path} cannot be read: {reply.problem}")
    try:
        return from_json(reply.payload, Prefetched, error=PrefetchFailed, what=path)
    except PrefetchFailed as damage:
        return DamagedCard(problem=damage.message)
