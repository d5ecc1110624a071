"""Environments at a site: what was built there."""

from windlass.core.codec import from_json
from windlass.core.environment import Built
from windlass.edges.host import Host, Request
from windlass.errors import EnvironmentFailed
from windlass_job import wire


def fetch_built(host: Host, root: str, env_id: str) -> Built | None:
    """None: it is not built there. Its card is written last, so what has one is whole."""
    path = f"{root}/{wire.ENVS}/{env_id}/{wire.ENV_CARD}"
    (reply,) = host.ask([Request(operation="read", arguments={"path": path}, idempotent=True)])
    if not reply.ok:
        return None
    return from_json(reply.payload, Built, error=EnvironmentFailed, what=path)
