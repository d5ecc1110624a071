"""The job package as one zip that any Python 3.6 or newer runs: `python3 windlass_job.pyz agent -- COMMAND`."""

import io
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from windlass_job import wire

_PACKAGE = "windlass_job"
_SHEBANG = b"#!/usr/bin/env python3\n"
_START = (
    b"from windlass_job import once\n\nonce.install()\nfrom windlass_job.__main__ import leave, main\n\nleave(main())\n"
)
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold


@cache
def make_job_zip() -> bytes:
    """The same bytes for the same sources, so that a run folder does not change without a reason."""
    sources = dict(_load_sources(resources.files(_PACKAGE), _PACKAGE))
    content = io.BytesIO()
    content.write(_SHEBANG)
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sorted({**sources, "__main__.py": _START}.items()):
            archive.writestr(_make_entry(name), source, compresslevel=9)
    return content.getvalue()


def load_task_sh() -> bytes:
    """It lies beside the zip: bash cannot read from inside one."""
    return resources.files(_PACKAGE).joinpath("starting", wire.TASK_SH).read_bytes()


def _load_sources(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        name = f"{path}/{item.name}"
        if item.is_dir():
            yield from _load_sources(item, name)
        elif item.name.endswith(".py"):
            yield name, item.read_bytes()


def _make_entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, wherever it is made
    entry.external_attr = 0o100644 << 16
    return entry
