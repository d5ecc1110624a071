"""`advise`: where jobs should read a data set, and what the quota would say before and after it is packed."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from windlass.app.data.info import is_here, load_info
from windlass.app.data.room import Room, find_advised_bytes, find_room
from windlass.app.data.sets import find_set
from windlass.app.session import Session
from windlass.core.case import DataSeen
from windlass.core.run import Data, Staging
from windlass.core.site import NodeType, Site
from windlass.core.staging import choose_stage
from windlass.edges.data_size import measure_data
from windlass.edges.site_data import fetch_data_seen
from windlass.errors import DataNotFound
from windlass_job.shards.card import is_packed
from windlass_job.shards.cutting import MOST_FILES, choose_shard_bytes
from windlass_job.shards.tarring import BLOCK

_LONGEST_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Advice:
    what: str
    site: str
    files: int  # as they lie now
    bytes: int
    is_partial: bool = False  # there is more: counting was given up
    is_packed: bool = False
    is_here: bool = False  # on this machine, and not at the site
    packed_files: int  # as shards, indexes and a card
    packed_bytes: int
    shard_bytes: int
    why_shards: str
    stage: Staging
    why_stage: str
    memory_mb: int | None = None  # of a job, as far as it was taken into account
    disk_gb: float | None = None  # of a node's own
    room: Room | None = None


def advise(session: Session, site: Site, what: str, *, memory_mb: int | None = None, nodes: int = 1) -> Advice:
    """What is a path here is looked at here; else the name or path at the site."""
    seen, was_packed = _look(session, site, what)
    files, size = seen.files or 0, seen.bytes or 0
    shard_bytes, why_shards = choose_shard_bytes(size, files, nodes, find_advised_bytes(session, site, site.root))
    packed_bytes = size if was_packed else size + files * BLOCK * 3 // 2
    shards = max(1, -(-packed_bytes // shard_bytes), -(-files // MOST_FILES))
    node = _pick_node(site)
    memory_mb = memory_mb or (int(node.memory_gb * 1e9 / 2**20) if node and node.memory_gb else None)
    disk_gb = node.local_disk_gb if node else None
    stage, why = choose_stage(packed_bytes, site, memory_mb=memory_mb, disk_gb=disk_gb)
    return Advice(
        what=what,
        site=site.name,
        files=files,
        bytes=size,
        is_partial=seen.is_partial,
        is_packed=was_packed,
        is_here=seen.is_here,
        packed_files=files if was_packed else 2 * shards + 1,
        packed_bytes=packed_bytes,
        shard_bytes=shard_bytes,
        why_shards=why_shards,
        stage=stage,
        why_stage=why,
        memory_mb=memory_mb,
        disk_gb=disk_gb,
        room=find_room(session, site),
    )


def _look(session: Session, site: Site, what: str) -> tuple[DataSeen, bool]:
    """How much it is as it lies, and whether it is packed already."""
    path = Path(what).expanduser()
    if path.exists() and (is_here(what) or path.is_dir()):
        if is_packed(os.fsencode(path)):
            info = load_info(path)
            return DataSeen(name=what, files=2 * (info.shards or 0) + 1, bytes=info.archived, is_here=True), True
        (found,) = measure_data(Path("/"), {what: Data(source=str(path.absolute()))}, None, longest_s=_LONGEST_S)
        return replace(found, is_here=True), False
    known = find_set(session, site, what).set
    if known.kind == "packed" and known.shards is not None:
        return DataSeen(name=what, files=2 * known.shards + 1, bytes=known.archived), True
    seen = fetch_data_seen(session.host(site), {what: Data(source=known.path)})
    if not seen or seen[0].is_missing:
        raise DataNotFound(f"{known.path} at {site.name} could not be counted", hint="name a folder inside of it")
    return seen[0], False


def _pick_node(site: Site) -> NodeType | None:
    """The smallest that a training would get: with GPUs, where the site has some."""
    with_gpus = [one for one in site.node_types if one.gpus] or list(site.node_types)
    return min(with_gpus, key=lambda one: (one.local_disk_gb or 0, one.memory_gb or 0), default=None)
