"""Results, exceptions and output that do what they like: only their own call has the harm."""

import os
import sys
import time
from pathlib import Path

import pytest

import windlass
from windlass.errors import CallFailed, ResultNotReadable

HERE_ONLY = pytest.mark.parametrize("session", ["here"], indirect=True)


@HERE_ONLY
def test_results_that_leave_the_program_when_they_are_read_fail_alone(executor: windlass.Executor) -> None:
    left = [executor.submit(_Leaving), executor.submit(_raise_leaving), executor.submit(_make_unspeakable)]
    with_callback = executor.submit(int, "7")
    with_callback.add_done_callback(lambda _: sys.exit(3))

    with pytest.raises(ResultNotReadable, match="SystemExit: 3"):
        left[0].result(60)
    with pytest.raises(CallFailed, match="_LeavingError: no"):
        left[1].result(60)
    with pytest.raises(ResultNotReadable, match="_UnspeakableError"):
        left[2].result(60)
    assert with_callback.result(60) == 7
    assert executor.submit(int, "8").result(60) == 8


@HERE_ONLY
def test_an_exception_without_words_does_not_end_the_worker(executor: windlass.Executor) -> None:
    first = executor.submit(os.getpid).result(60)
    with pytest.raises(_UnspeakableError):
        executor.submit(_raise_unspeakable).result(60)

    assert first in {executor.submit(os.getpid).result(60) for _ in range(10)}


@HERE_ONLY
@pytest.mark.slow
def test_a_gigabyte_that_a_call_prints_is_cut_and_told(executor: windlass.Executor) -> None:
    loud, quiet = executor.submit(_shout, 1 << 30), executor.submit(int, "3")

    assert (loud.result(120), quiet.result(120)) == ("shouted", 3)
    deadline = time.monotonic() + 30
    while not (printed := loud.output()).endswith(b"the end\n"):  # it comes a moment after the result
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert printed.startswith(b"aaaa")
    assert b"bytes were left out here" in printed
    assert len(printed) < 20 << 20
    kept = sum(one.stat().st_size for one in Path(executor.record.folder).rglob("*") if one.is_file())
    assert kept < 40 << 20
    assert executor.submit(int, "4").result(60) == 4


class _Leaving:
    def __reduce__(self) -> tuple[object, ...]:
        return sys.exit, (3,)


class _LeavingError(Exception):
    def __reduce__(self) -> tuple[object, ...]:
        return sys.exit, (3,)


def _raise_leaving() -> None:
    raise _LeavingError("no")


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def _raise_unspeakable() -> None:
    raise _UnspeakableError


class _Unspeakable:
    def __reduce__(self) -> tuple[object, ...]:
        return _raise_unspeakable, ()


def _make_unspeakable() -> object:
    return _Unspeakable()


def _shout(size: int) -> str:
    block = b"a" * (1 << 20)
    for _ in range(size // len(block)):
        os.write(1, block)
    print("the end", flush=True)
    return "shouted"
