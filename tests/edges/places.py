"""Places where files behave badly, for real: another user's rights, a full disk."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_NOBODY = 65534


@contextlib.contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder of its own, and inside the block the rights of an ordinary user: root may read and write anything."""
    folder = Path(tempfile.mkdtemp())
    try:
        if os.geteuid() != 0:
            yield folder
            return
        os.chown(folder, _NOBODY, _NOBODY)
        os.setegid(_NOBODY)
        os.seteuid(_NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(0)
            os.setegid(0)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def small_disk(tmp_path: Path, *, size_kb: int) -> Iterator[Path]:
    """A filesystem of this size; the test is skipped where none may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small filesystem cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path) -> None:
    """To the last byte."""
    with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
