"""A file system without hard links, as some of FUSE and vfat are: here the kernel refuses them to these processes."""

import ctypes
import multiprocessing
import os
import platform
import struct
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from windlass_job.farming import ledger
from windlass_job.farming.entries import DiskStore, Ledger
from windlass_job.farming.ranges import Range

_CALLS = {"x86_64": (86, 265), "aarch64": (37,)}.get(platform.machine(), ())  # link, linkat
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _NOT_PERMITTED = 0x7FFF0000, 0x00050001
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_fork = multiprocessing.get_context("fork")

pytestmark = pytest.mark.skipif(not _CALLS, reason="numbers of system calls are not known here")


def refuse_links() -> None:
    """To this process, for as long as it lives."""
    steps = [(_LOAD, 0, 0, 0)]
    steps += [(_IF_EQUAL, len(_CALLS) - place, 0, number) for place, number in enumerate(_CALLS)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOT_PERMITTED)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    assert libc.prctl(_SECCOMP, _FILTER, program, 0, 0) == 0
    with pytest.raises(PermissionError):
        os.link("/etc/hostname", f"/tmp/link-{os.getpid()}")


def start(act: Callable[[], None]) -> "multiprocessing.process.BaseProcess":
    def run() -> None:
        refuse_links()
        act()

    process = _fork.Process(target=run)
    process.start()
    return process


def open_book(folder: Path) -> Ledger:
    return Ledger(DiskStore(os.fsencode(folder)))


def claim(book: Ledger, who: str) -> list[Range]:
    taken: list[Range] = []

    def change(state: ledger.State) -> tuple[ledger.State, bytes]:
        made, taken[:] = ledger.claim(state, 1)
        return made, ledger.format_entry(ledger.CLAIM, who, made, moved=taken)

    book.append(change)
    return taken


def grow(folder: Path, count: int) -> None:
    def change(state: ledger.State) -> tuple[ledger.State, bytes]:
        made = ledger.grow(state, count)
        return made, ledger.format_entry(ledger.GROW, "laptop", made, moved=[])

    open_book(folder).append(change)


def claim_all(folder: Path, who: str) -> None:
    book = open_book(folder)
    with (folder / who).open("w") as file:
        while ranges := claim(book, who):
            file.write("".join(f"{first}\n" for first, _, _ in ranges))


def test_of_many_each_task_is_claimed_once(tmp_path: Path) -> None:
    grow(tmp_path, 60)

    workers = [start(partial(claim_all, tmp_path, who)) for who in "abcd"]
    for one in workers:
        one.join(60)

    claimed = [int(line) for who in "abcd" for line in (tmp_path / who).read_text().splitlines()]
    assert [one.exitcode for one in workers] == [0] * 4
    assert sorted(claimed) == list(range(60))
    assert not list(tmp_path.rglob(".*"))


def test_an_entry_is_whole_or_not_there(tmp_path: Path) -> None:
    grow(tmp_path, 150)
    store = DiskStore(os.fsencode(tmp_path))
    writer = start(partial(claim_all, tmp_path, "a"))

    number, deadline = 1, time.monotonic() + 60
    while number < 151 and time.monotonic() < deadline:
        if store.exists(number):
            assert ledger.read_entry(number, store.read(number)).state.number == number
            number += 1

    writer.join(60)
    assert writer.exitcode == 0
    assert number == 151
