"""Classes by folder, for archives that hold nothing but files: the rule by which a folder is packed, on names."""

from collections.abc import Iterable

from windlass.formats.form import as_text
from windlass_job.shards.layouts import Names


def find_classes(names: Iterable[bytes]) -> tuple[list[str], int | None]:
    """The classes in order, and which part of a name is its class; none and None where folders tell none."""
    found = Names()
    for name in names:
        found.add(name.lstrip(b"/"))
    layout = found.judge()
    return [as_text(one) for one in layout.classes], layout.depth
