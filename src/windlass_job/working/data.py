"""Verbs of long work: data sets, where they lie."""

import os
import shutil
from typing import Any, Callable, Dict, List

from windlass_job import disk, wire
from windlass_job.shards.card import CardDamaged
from windlass_job.shards.claiming import InUse
from windlass_job.shards.extracting import ExtractFailed
from windlass_job.shards.folder import FileDamaged
from windlass_job.shards.index import IndexDamaged
from windlass_job.shards.pointers import find_target
from windlass_job.shards.writing import PackFailed

_MOST_DAMAGES = 1000

Progress = Callable[[int, int], None]  # bytes done, of all

# ValueError: the packer's own words about a source.
FAILURES = (CardDamaged, FileDamaged, IndexDamaged, PackFailed, ExtractFailed, ValueError)


def explain(error: Exception) -> "Dict[str, Any]":
    if isinstance(error, (CardDamaged, FileDamaged, IndexDamaged)):
        return {"kind": "damaged", "problem": str(error)}
    if isinstance(error, InUse):
        return {"kind": "in-use", "problem": str(error)}
    kind = "no-space" if getattr(error, "is_full", False) else "failed"
    told = {"kind": kind, "problem": str(error)}  # type: Dict[str, Any]
    if getattr(error, "is_refusal", False):
        told.update(option=getattr(error, "option", None), is_refusal=True)
    return told


def _verify(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    from windlass_job.shards.card import load_card
    from windlass_job.shards.verifying import verify

    folder = disk.expand_root(request["path"])
    card = load_card(folder)
    damages = verify(folder, progress)
    told = [
        {"shard": one.shard, "name": None if one.name is None else disk.as_text(one.name), "problem": one.problem}
        for one in damages[:_MOST_DAMAGES]
    ]
    return {"damages": told, "count": len(damages), "files": card.files, "bytes": card.bytes}


def _pack(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    from windlass_job.deputy_data_changes import list_running
    from windlass_job.shards.packing import Settings, pack

    target = find_target(request["target"])
    root = os.path.dirname(os.path.dirname(disk.expand_root(request["target"])))  # ROOT/data/NAME
    source = _open_source(request)
    disk.make_folders(os.path.dirname(target))
    settings = Settings(**request["settings"])

    def tell(_: int, done: int, __: int, total: int) -> None:
        progress(done, total)

    def find_readers() -> "List[str]":
        return list_running(root, settings.name, disk.as_text(target))

    packed = pack(source, target, settings, tell, find_readers)
    card = packed.card
    return {
        "path": disk.as_text(target),
        "files": card.files,
        "bytes": card.bytes,
        "shards": len(card.shards),
        "classes": len(card.classes),
        "new_files": packed.new_files,
        "dead_files": packed.dead_files,
        "told": packed.told.make_lines(),
        "advice": packed.advice,
    }


def _try_pack(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    """Counts and cuts; writes nothing."""
    from windlass_job.shards.packing import Packing, Settings

    source = _open_source(request)
    packing = Packing(source, Settings(**request["settings"]), None, None)
    packing.fill(lambda _: progress(packing.plan.bytes, 0))
    return {
        "files": packing.files,
        "bytes": packing.plan.bytes,
        "shards": len(packing.shards),
        "archived": packing.archive_bytes,
        "classes": len(source.classes),
        "layout": str(source.words),
        "told": packing.told.make_lines(),
    }


def _open_source(request: "Dict[str, Any]") -> "Any":
    from windlass_job.shards.sources import choose_source

    path = disk.expand_root(request["source"])
    labels = disk.expand_root(request["labels"]) if request.get("labels") else None
    follow, outside = bool(request.get("follow")), bool(request.get("outside"))
    return choose_source(path, request.get("kind") or "auto", follow, labels, outside)


def _extract(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    from windlass_job.shards.card import load_card
    from windlass_job.shards.extracting import extract

    folder, target = disk.expand_root(request["path"]), disk.expand_root(request["target"])
    patterns = tuple(disk.as_path(one) for one in request.get("patterns") or ())
    total = load_card(folder).bytes
    done = extract(folder, target, patterns, bool(request.get("force")), lambda _, size: progress(size, total))
    return {
        "path": disk.as_text(target),
        "files": done.files,
        "bytes": done.bytes,
        "kept": done.kept,
        "told": done.told.make_lines(),
        "damaged": done.damaged[:_MOST_DAMAGES],
    }


def _sample(request: "Dict[str, Any]", progress: Progress) -> "Dict[str, Any]":
    from windlass_job.shards.sampling import sample

    source, target = disk.expand_root(request["path"]), disk.expand_root(request["target"])
    per_class, seed = int(request["per_class"]), int(request["seed"])
    if os.path.basename(os.path.dirname(target)) == disk.as_path(wire.SAMPLES):
        shutil.rmtree(target, ignore_errors=True)  # an earlier one of ours, made to be fetched
    files, size = sample(source, target, per_class, seed, packed=True, progress=progress)
    return {"path": disk.as_text(target), "files": files, "bytes": size}


VERBS = {
    "verify": _verify,
    "pack": _pack,
    "try-pack": _try_pack,
    "extract": _extract,
    "sample": _sample,
}  # type: Dict[str, Callable[[Dict[str, Any], Progress], Dict[str, Any]]]
