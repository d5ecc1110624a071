"""Waiting for what comes by itself, on a machine that may be busy with other tests."""

import time
from collections.abc import Callable


def wait_until(claim: Callable[[], bool], what: str, *, timeout_s: float = 60, pause_s: float = 0.05) -> None:
    deadline = time.monotonic() + timeout_s
    while not claim():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout_s:g} s")
        time.sleep(pause_s)
