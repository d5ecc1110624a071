"""What is known of one data set: of its card, here or at a site."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windlass.app.data.sets import KnownSet, find_set
from windlass.app.session import Session
from windlass.core.shell import quote_path
from windlass.core.site import Site
from windlass.edges.host import Request, expect
from windlass.errors import DataDamaged, DataNotFound
from windlass_job.shards.card import CARD, Card, CardDamaged, is_packed, load_card, read_card

_MOST_CARD = 64 << 20  # as much as the site's listing reads


@dataclass(frozen=True, kw_only=True)
class SetInfo:
    name: str
    path: str
    site: str | None = None  # None: on this machine, by its path
    kind: str = "packed"
    files: int | None = None
    bytes: int | None = None
    shards: int | None = None
    archived: int | None = None  # bytes of the shards
    largest_shard: int | None = None
    dead_share: float = 0.0  # of the files in the shards: replaced or removed since
    classes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    about: Mapping[str, object] = field(default_factory=dict)
    known: KnownSet | None = None  # what the site tells of it besides


def is_here(what: str) -> bool:
    """Whether the word is a path on this machine rather than a name: with a slash, or there in this folder."""
    return "/" in what or what in (".", "..") or is_packed(os.fsencode(what))


def load_info(path: Path) -> SetInfo:
    try:
        card = load_card(os.fsencode(path))
    except CardDamaged as problem:
        there = is_packed(os.fsencode(path))
        hint = f"windlass data verify {quote_path(path)}" if there else f"windlass data pack {quote_path(path)} TARGET"
        raise (DataDamaged if there else DataNotFound)(str(problem), hint=hint) from problem
    except OSError as problem:
        raise DataNotFound(f"{path} cannot be read: {(problem.strerror or str(problem)).lower()}") from problem
    return _make_info(card, str(path.absolute()))


def fetch_info(session: Session, site: Site, what: str) -> SetInfo:
    known = find_set(session, site, what)
    one = known.set
    if one.kind != "packed" or (one.problem is not None and "card" in one.problem):
        return SetInfo(
            name=one.name, path=one.path, site=site.name, kind=one.kind, files=one.files, bytes=one.bytes, known=known
        )
    request = Request(operation="read", arguments={"path": f"{one.path}/{CARD}", "limit": _MOST_CARD}, idempotent=True)
    reply = expect(session.host(site).ask([request])[0], DataNotFound, f"the card of {what} cannot be read")
    try:
        return _make_info(read_card(reply.payload), one.path, site=site.name, known=known)
    except CardDamaged as problem:
        hint = f"windlass data send FOLDER --name {what} --on {site.name}"
        raise DataDamaged(f"{one.path}/{CARD}: {problem}", hint=hint) from problem


def _make_info(card: Card, path: str, *, site: str | None = None, known: KnownSet | None = None) -> SetInfo:
    packed = sum(one.files for one in card.shards)
    return SetInfo(
        name=card.name,
        path=path,
        site=site,
        files=card.files,
        bytes=card.bytes,
        shards=len(card.shards),
        archived=sum(one.bytes for one in card.shards),
        largest_shard=max((one.bytes for one in card.shards), default=None),
        dead_share=(packed - card.files) / packed if packed else 0.0,
        classes=card.classes,
        columns=card.columns,
        about={**card.about, **(known.set.about if known else {})},
        known=known,
    )
