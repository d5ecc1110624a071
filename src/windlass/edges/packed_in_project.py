"""Packed data sets that lie in a project: those that nothing there reads stay at home."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from windlass.edges.project_files import Found
from windlass_job.shards.card import CARD, is_packed

_CODE = (".py", ".sh", ".bash", ".slurm", ".sbatch", ".yaml", ".yml", ".json", ".ipynb")
_MOST_CODE = 1 << 20  # bytes of one file


def find_unread_sets(project: Path, found: Found, data: Sequence[str]) -> frozenset[str]:
    """Data sets that were packed, fetched or sampled into the project and are not read there.

    The project itself is never one.
    """
    wanted = [f"{os.path.normpath(one)}/" for one in data if one]
    folders = [path.removesuffix(CARD) for path in found.paths if path.endswith(f"/{CARD}")]
    unread = [one for one in folders if not any(one.startswith(it) or it.startswith(one) for it in wanted)]
    packed = [one.rstrip("/") for one in unread if is_packed(os.fsencode(project / one))]
    return frozenset(packed).difference(_list_named(project, found, packed))


def _list_named(project: Path, found: Found, folders: Sequence[str]) -> Iterator[str]:
    """Of these folders those whose name stands somewhere in the code: it may read them there."""
    own = tuple(f"{folder}/" for folder in folders)
    codes = [path for path in found.paths if path.endswith(_CODE) and not path.startswith(own)] if folders else []
    texts = [_read_small(project / path) for path in codes]
    for folder in folders:
        name = re.compile(rb"(?<![\w-])" + re.escape(os.fsencode(folder.rpartition("/")[2])) + rb"(?![\w-])")
        if any(name.search(text) for text in texts):
            yield folder


def _read_small(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= _MOST_CODE else b""
    except OSError:
        return b""
