"""A future gets what became of its call. Whatever its callbacks do, the others' results still come."""

import logging
from concurrent.futures import InvalidStateError
from typing import Any

from windlass.app.calls.future import CallFuture
from windlass.app.calls.outcomes import read_value
from windlass.errors import CallFailed, WindlassError
from windlass_job.farming.functions import describe

_log = logging.getLogger("concurrent.futures")  # which tells of callbacks that raise


def settle_content(future: CallFuture, content: bytes) -> None:
    """content: as a worker left it, with its first letter."""
    try:
        value = read_value(memoryview(content)[1:])
    except WindlassError as problem:
        settle(future, problem=problem)
        return
    settle(future, value=value)


def settle(future: CallFuture, *, value: Any = None, problem: BaseException | None = None) -> None:
    try:
        if problem is None:
            future.set_result(value)
        else:
            future.set_exception(problem)
    except InvalidStateError:
        pass  # it was cancelled
    except BaseException:  # of a callback that leaves the program
        _log.exception("exception calling callback for %r", future)


def explain(problem: BaseException) -> Exception:
    """Of what would end the caller's program when it is raised there, an error that does not."""
    if isinstance(problem, Exception):
        return problem
    made = CallFailed(f"the results of these calls cannot be brought: {describe(problem)}")
    made.__cause__ = problem
    return made
