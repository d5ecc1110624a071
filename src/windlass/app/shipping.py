"""Sending a project's files: only contents the site lacks, in batches."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from windlass.edges.host import Host, Request, expect, find_kind
from windlass.edges.snapshot import Snapshot
from windlass.errors import SiteNotReady

_BATCH_BYTES = 8_000_000

_Sent = TypeVar("_Sent")
Progress = Callable[[int, int], None]  # bytes sent, bytes in all


def ignore_progress(_sent: int, _total: int) -> None:
    """Nobody looks."""


def send_most(host: Host, root: str, snapshot: Snapshot, progress: Progress = ignore_progress) -> list[str]:
    """Sends what the site lacks; the hashes of the last batch come back, to travel with what follows."""
    ask = Request(
        operation="missing_blobs", arguments={"root": root}, payload="\n".join(snapshot.manifest.hashes).encode()
    )
    reply = expect(host.ask([ask])[0], SiteNotReady, f"the folder {root} at {host.name} cannot be used")
    missing = reply.payload.decode().split()
    sizes = {one.sha256: one.size for one in snapshot.manifest.files if one.sha256}
    batches = _make_batches(sizes, missing)
    total, sent = sum(sizes[one] for one in missing), 0
    for batch in batches[:-1]:
        expect(host.ask([make_put(root, snapshot, batch)])[0], SiteNotReady, "your files could not be sent")
        sent += sum(sizes[one] for one in batch)
        progress(sent, total)
    return batches[-1] if batches else []


def send_with_contents(tell: Callable[[str], None], send: Callable[[], _Sent]) -> _Sent:
    """`send` ships what is missing and then something that needs it. Once more when contents there were damaged.

    The site removes a damaged one when it meets it, so that the second time it is among the missing.
    """
    try:
        return send()
    except SiteNotReady as problem:
        if find_kind(problem) != "missing-blob":
            raise
    tell("a file's content at the site was damaged or gone: it is sent again")
    return send()


def make_put(root: str, snapshot: Snapshot, blobs: list[str]) -> Request:
    contents = [snapshot.open_blob(one) for one in blobs]
    named = [{"sha256": one, "bytes": len(content)} for one, content in zip(blobs, contents, strict=True)]
    return Request(operation="put_blobs", arguments={"root": root, "blobs": named}, payload=b"".join(contents))


def _make_batches(sizes: Mapping[str, int], missing: list[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    room = 0
    for sha256 in missing:
        if not batches or room < sizes[sha256]:
            batches.append([])
            room = _BATCH_BYTES
        batches[-1].append(sha256)
        room -= sizes[sha256]
    return batches
