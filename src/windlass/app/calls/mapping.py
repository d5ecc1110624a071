"""`map` over a site: chunks, and results in order."""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any


def cut(calls: Iterable[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    rest = iter(calls)
    while chunk := list(itertools.islice(rest, size)):
        yield chunk


def iterate(made: Sequence[Future[Any]], timeout_s: float | None) -> Iterator[Any]:
    """Results in order; whoever stops asking has the rest cancelled, as the standard library does."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    left = list(reversed(made))
    try:
        while left:
            # Taken out first: nothing holds a result that was given away.
            yield left.pop().result(None if end is None else max(0.0, end - time.monotonic()))
    finally:
        for future in left:
            future.cancel()
