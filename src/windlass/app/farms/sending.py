"""Rows on their way: packed in pieces, which travel as blobs of their own where they are many."""

import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from windlass.edges.host import Host, Json, Request, expect
from windlass.errors import SiteNotReady
from windlass_job.farming.packing import pack

_ALONG = 1_000_000  # bytes that travel with the request itself


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Rows of a table, compressed: a million of them are some megabytes."""

    pieces: tuple[bytes, ...]
    count: int


@dataclass(frozen=True, kw_only=True)
class Pieces:
    names: tuple[str, ...]  # in order; hashes
    along: tuple[bytes, ...] = field(default=())  # not at the site yet: they go with what needs them

    @property
    def blobs(self) -> list[Json]:
        return [{"sha256": _name(one), "bytes": len(one)} for one in self.along]


def pack_rows(rows: Iterable[bytes]) -> Packed:
    counter = itertools.count()
    # In this order: behind the last row no number is taken.
    pieces = tuple(pack(row for row, _ in zip(rows, counter, strict=False)))
    return Packed(pieces=pieces, count=next(counter))


def send_pieces(host: Host, root: str, packed: Packed) -> Pieces:
    """What is small is not sent yet. The same call goes on after a cut."""
    names = tuple(_name(one) for one in packed.pieces)
    if sum(map(len, packed.pieces)) <= _ALONG:
        return Pieces(names=names, along=packed.pieces)
    ask = Request(operation="missing_blobs", arguments={"root": root}, payload="\n".join(names).encode())
    reply = expect(host.ask([ask])[0], SiteNotReady, f"the folder {root} at {host.name} cannot be used")
    missing = set(reply.payload.decode().split())
    for name, piece in dict(zip(names, packed.pieces, strict=True)).items():
        if name in missing:
            put = {"root": root, "blobs": [{"sha256": name, "bytes": len(piece)}]}
            reply = host.ask([Request(operation="put_blobs", arguments=put, payload=piece, idempotent=True)])[0]
            expect(reply, SiteNotReady, "the table of tasks could not be sent")
    return Pieces(names=names)


def _name(piece: bytes) -> str:
    return hashlib.sha256(piece).hexdigest()
