"""The atomic write: whole or not at all, with words when it cannot be done."""

import os
import stat
from pathlib import Path

import pytest

from tests.edges.places import fill, small_disk, unprivileged
from windlass.edges.files import make_private_folder, save_file
from windlass.errors import ConfigError, DiskFull, StoreError


def test_a_file_is_written_with_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        save_file(tmp_path / "a", b"one", mode=0o644)
    finally:
        os.umask(before)

    assert (tmp_path / "a").read_bytes() == b"one"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_a_file_is_private_unless_said_otherwise(tmp_path: Path) -> None:
    save_file(tmp_path / "a", b"")

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_a_mode_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)

    save_file(tmp_path / "a", b"new", mode=None)

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")

    save_file(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_reader_that_has_it_open_keeps_the_old_content(tmp_path: Path) -> None:
    save_file(tmp_path / "a", b"old")

    with open(tmp_path / "a", "rb") as reader:
        save_file(tmp_path / "a", b"new")
        assert reader.read() == b"old"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path, size_kb=64) as disk:
        save_file(disk / "a", b"old")
        fill(disk)

        with pytest.raises(DiskFull, match="could not be written"):
            save_file(disk / "a", b"x" * 100_000)

        assert (disk / "a").read_bytes() == b"old"
        assert {file.name for file in disk.iterdir()} == {"a", "filler"}


def test_a_folder_that_may_not_be_written_is_said_in_the_callers_error() -> None:
    with unprivileged() as folder:
        folder.chmod(0o500)

        with pytest.raises(ConfigError, match="Permission denied"):
            save_file(folder / "a", b"x", error=ConfigError)

        folder.chmod(0o700)


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        save_file(tmp_path / "missing" / "a", b"x")


def test_private_folders_are_made_all_the_way(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_file_in_the_way_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")

    with pytest.raises(StoreError, match="could not be written"):
        make_private_folder(tmp_path / "a" / "b")
