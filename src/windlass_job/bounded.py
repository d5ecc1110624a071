"""Do things that may hang (a dead shared file system, a full disk under stderr) without hanging with them."""

import os
import threading
import time
from typing import Any, Callable, List, Set

PATIENCE_S = 30.0

_said: Set[str] = set()


class Hangs(OSError):
    """The call has not come back in time; its thread is left behind."""


def within(seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's value or exception, or Hangs."""
    results: List[Any] = []
    errors: List[BaseException] = []

    def call() -> None:
        try:
            results.append(function(*arguments))
        except BaseException as error:  # raised again in the thread that asked
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise Hangs("no answer within {:g} s".format(seconds))
    return results[0]


def repeat(interval_s: float, look: Callable[[], bool]) -> None:
    """Look again and again, in a thread that may hang, until it has seen enough. A failure is no reason to stop."""

    def work() -> None:
        while True:
            time.sleep(interval_s)
            try:
                if look():
                    return
            except Exception as error:  # a look that fails is told, and the next one may succeed
                say("cannot look into the run folder: " + describe(error))

    threading.Thread(target=work, daemon=True).start()


def say(text: str) -> None:
    """Tell the job's log, each text once, and never wait long for it."""
    if text in _said:
        return
    _said.add(text)
    try:
        within(2.0, os.write, 2, "windlass: {}\n".format(text).encode("utf-8", "surrogateescape"))
    except (OSError, RuntimeError, ValueError):
        pass  # there is nobody left to tell


def describe(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
