"""What test jobs saw of a site's compute nodes, kept on the laptop for plans and checks."""

from windlass.app.session import Session
from windlass.core.seen.node_probe import NodeSeen

_KEY = "node:{name}"


def remember_node(session: Session, name: str, node: NodeSeen) -> None:
    session.store.keep(_KEY.format(name=name), node)


def recall_node(session: Session, name: str) -> NodeSeen | None:
    """Of the last test job there."""
    return session.store.kept(_KEY.format(name=name), kind=NodeSeen)
