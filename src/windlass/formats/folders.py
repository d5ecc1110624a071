"""Classes by folder, for archives that hold nothing but files: the rule by which a folder is packed, on names."""

from collections.abc import Iterable

from windlass.formats.form import as_text
from windlass_job.shards.layouts import MOST_CLASSES, SPLITS


def find_classes(names: Iterable[bytes]) -> tuple[list[str], int | None]:
    """The classes in order, and which part of a name is its class; none and None where folders tell none."""
    tops: set[bytes] = set()
    below: set[bytes] = set()
    for name in names:
        parts = name.lstrip(b"/").split(b"/")
        tops.update(parts[:1] if len(parts) > 1 else ())
        below.update(parts[1:2] if len(parts) > 2 else ())
    has_splits = bool(tops) and all(top.lower() in SPLITS for top in tops)
    classes = below if has_splits else tops
    if not 1 < len(classes) <= MOST_CLASSES:
        return [], None
    return [as_text(one) for one in sorted(classes)], int(has_splits)
