"""What lies in a run folder at a site, asked for in one round trip."""

from collections.abc import Sequence

from windlass.core.codec import from_json
from windlass.core.plan import Plan
from windlass.edges.host import Reply, Request
from windlass.errors import RunFolderGone, WindlassError
from windlass_job import wire

_MOST_FILES = 10_000
_PLAN_BYTES = 10_000_000


def ask_for_list(folder: str) -> Request:
    arguments = {"folder": folder, "patterns": ["*"], "limit": _MOST_FILES}
    return Request(operation="list_files", arguments=arguments, idempotent=True)


def ask_for_part(path: str, start: int, limit: int) -> Request:
    """start: below 0 it counts from the end."""
    arguments = {"path": path, "from_byte": start, "limit": limit}
    return Request(operation="read", arguments=arguments, idempotent=True)


def ask_for_plan(folder: str) -> Request:
    return ask_for_part(f"{folder}/{wire.PLAN_JSON}", 0, _PLAN_BYTES)


def read_names(listed: Reply) -> Sequence[str]:
    return [str(one["path"]) for one in listed.values.get("files", ())] if listed.ok else []


def read_text(reply: Reply) -> str:
    """Empty where there is no such file."""
    return reply.payload.decode(errors="replace") if reply.ok else ""


def is_gone(*replies: Reply) -> bool:
    """None of what lies in every run folder is there."""
    return all(not reply.ok and reply.kind == "not-found" for reply in replies)


def read_plan(reply: Reply) -> Plan | None:
    if not reply.ok:
        return None
    try:
        return from_json(reply.payload, Plan, error=RunFolderGone, what=wire.PLAN_JSON)
    except WindlassError:
        return None
