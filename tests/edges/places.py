"""Places where files behave badly, for real: another user's rights, a full disk, a quota that is used up."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

_NOBODY = 65534
_BTRFS_BYTES = 256 << 20  # the least that mkfs.btrfs takes is 109 MB


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


@contextlib.contextmanager
def small_quota(tmp_path: Path, *, size_kb: int) -> Iterator[Path]:
    """A folder with a quota of this size on a disk with room for more, so that only a write meets it (EDQUOT).

    Of a btrfs in a file; the test is skipped where none may be mounted.
    """
    disk, image = tmp_path / "disk-with-quotas", tmp_path / "disk-with-quotas.img"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(_BTRFS_BYTES)
    if shutil.which("mkfs.btrfs") is None:
        pytest.skip("btrfs-progs is not installed here: no quota can be set")
    subprocess.run(["mkfs.btrfs", "-q", str(image)], check=True, capture_output=True)
    mounted = subprocess.run(["mount", "-o", "loop", str(image), str(disk)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a filesystem with quotas cannot be mounted here: {mounted.stderr.strip()}")
    try:
        folder = disk / "mine"
        for command in (
            ["subvolume", "create", str(folder)],
            ["quota", "enable", str(disk)],
            ["qgroup", "limit", f"{size_kb}K", str(folder)],
        ):
            subprocess.run(["btrfs", *command], check=True, capture_output=True)
        yield folder
    finally:
        subprocess.run(["umount", str(disk)], check=True)
        image.unlink()


# A test that needs "a full disk" runs on both.
FullPlace = Callable[..., AbstractContextManager[Path]]
FULL_PLACES = (small_disk, small_quota)


def fill(folder: Path) -> None:
    """To the last byte."""
    with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
