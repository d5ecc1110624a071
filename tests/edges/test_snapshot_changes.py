"""Snapshots of files that change, vanish or cannot be read, and the memory of their hashes."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edges.places import unprivileged
from tests.edges.test_snapshot import names, write
from windlass.edges.snapshot import Snapshot, take_snapshot
from windlass.errors import SnapshotError


def take(project: Path, *, after_s: float = 60) -> Snapshot:
    """As if taken later than the files were written."""
    return take_snapshot(project, cache_folder=project.parent / "cache", clock=lambda: time.time() + after_s)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "project", "a.py", "b.py")
    return tmp_path / "project"


def _change_keeping_time(file: Path) -> None:
    status = file.stat()
    file.write_text("y\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_changed_file_of_the_same_size_and_time_is_read_again(project: Path) -> None:
    first = take(project)
    _change_keeping_time(project / "a.py")

    second = take(project)

    assert second.manifest.files[0].sha256 != first.manifest.files[0].sha256
    assert second.manifest.files[1] == first.manifest.files[1]


def test_unchanged_files_are_not_opened_again(project: Path) -> None:
    first = take(project)
    atimes = _set_old_atimes(project)

    second = take(project)

    assert second.manifest == first.manifest
    assert [file.stat().st_atime_ns for file in sorted(project.iterdir())] == atimes


def _set_old_atimes(project: Path) -> list[int]:
    """Where a read would show. Setting them changes ctime, so they are set before the files are hashed."""
    files = sorted(project.iterdir())
    for file in files:
        os.utime(file, ns=(1, file.stat().st_mtime_ns))
    take(project)  # hashes them again
    return [file.stat().st_atime_ns for file in files]


def test_the_memory_of_a_key_is_kept_too(project: Path) -> None:
    write(project, "notes.txt", text="-----BEGIN " + "PRIVATE KEY-----\n")

    assert names(take(project)) == names(take(project)) == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: b"",
        lambda data: b"garbage",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:],
    ],
)
def test_a_damaged_memory_is_ignored(project: Path, harm: Callable[[bytes], bytes]) -> None:
    first = take(project)
    (cache,) = (project.parent / "cache").iterdir()
    cache.write_bytes(harm(cache.read_bytes()))

    assert take(project).manifest == first.manifest


def test_a_memory_that_cannot_be_written_is_no_trouble(tmp_path: Path, project: Path) -> None:
    write(tmp_path, "file")

    assert names(take_snapshot(project, cache_folder=tmp_path / "file" / "cache")) == ["a.py", "b.py"]


def test_a_young_file_is_sent_as_it_was_read(project: Path) -> None:
    """It may be in the middle of being written, such as the log of a training on the laptop."""
    snapshot = take_snapshot(project)
    sha256 = str(snapshot.manifest.files[0].sha256)
    write(project, "a.py", "b.py", text="more\n")

    assert snapshot.open_blob(sha256) == b"x\n"


def test_a_file_that_changed_before_it_was_sent_is_said(project: Path) -> None:
    snapshot = take(project)
    sha256 = str(snapshot.manifest.files[0].sha256)
    write(project, "a.py", text="more\n")

    assert snapshot.open_blob(sha256) == b"x\n"  # b.py still has it
    write(project, "b.py", text="more\n")
    with pytest.raises(SnapshotError, match=r"a\.py changed while") as raised:
        snapshot.open_blob(sha256)
    assert 'exclude = ["/a.py"]' in str(raised.value.hint)


def test_a_blob_nobody_knows_is_said(project: Path) -> None:
    with pytest.raises(SnapshotError):
        take(project).open_blob("0" * 64)


def test_files_that_come_and_go_are_no_trouble(project: Path) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            write(project, *(f"t/{n}" for n in range(20)))
            for n in range(20):
                (project / f"t/{n}").unlink()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        taken = [take_snapshot(project) for _ in range(30)]
    finally:
        stop.set()
        thread.join()

    assert all({"a.py", "b.py"} <= set(names(snapshot)) for snapshot in taken)


def test_what_is_hashed_is_what_is_sent_while_a_file_is_rewritten(project: Path) -> None:
    stop = threading.Event()

    def rewrite() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            (project / "a.py").write_text(f"{count}\n" * 1000)

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        for _ in range(20):
            _check_blobs(project)
    finally:
        stop.set()
        thread.join()


def _check_blobs(project: Path) -> None:
    """Either refused in words, or every blob has its hash (`open_blob` checks those it reads again)."""
    try:
        snapshot = take_snapshot(project)
    except SnapshotError as error:
        if error.details != ("a.py: it changes while it is read",):
            raise
        return
    for file in snapshot.manifest.files:
        assert len(snapshot.open_blob(str(file.sha256))) == file.size


def test_all_unreadable_files_and_folders_are_named() -> None:
    with unprivileged() as folder:
        write(folder, "a.py", "no.txt", "locked/x", "never/y")
        (folder / "no.txt").chmod(0)
        (folder / "locked").chmod(0)
        (folder / "never").chmod(0)

        with pytest.raises(SnapshotError) as raised:
            take_snapshot(folder, exclude=["never"])

        assert sorted(raised.value.details) == ["locked/: the folder cannot be read", "no.txt: Permission denied"]
        assert names(take_snapshot(folder, exclude=["never", "/locked", "/no.txt"])) == ["a.py"]
        (folder / "locked").chmod(0o700)
        (folder / "never").chmod(0o700)
