"""What became of a call, as a value or as an exception to raise here."""

import pickle
from typing import Any

from windlass.errors import CallFailed, OtherPython, ResultNotReadable, WindlassError
from windlass_job import wire
from windlass_job.farming import records
from windlass_job.farming.functions import describe

_HINTS = {
    wire.NO_FUNCTION: "is its module in the project, and in [environment] what it imports?",
    wire.NO_ARGUMENTS: "what they are made of must be importable at the site too",
}


class RemoteTraceback(Exception):
    """Where in the job it was raised; the cause of the exception that is raised here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


def read_value(content: bytes | memoryview) -> Any:
    """Raises ResultNotReadable."""
    try:
        return pickle.loads(content)
    except BaseException as problem:  # whatever is missing here; a module may leave the program when it is imported
        raise ResultNotReadable(
            f"the call was run, and its result cannot be read here: {describe(problem)}",
            hint="install here what the result is made of, or return plain values",
        ) from problem


def read_error(content: bytes) -> BaseException:
    """Of what a worker left of a call that failed."""
    kind, text, trace, pickled = pickle.loads(content)
    cause = RemoteTraceback(trace) if trace else None
    if kind == wire.RAISED:
        error = _revive(pickled) or CallFailed(text, said=trace or None)
    elif kind == wire.OTHER_PYTHON:
        error = OtherPython(text, hint="put the function into a module of the project", done="it was not run")
    elif kind == wire.NO_RESULT:
        error = ResultNotReadable(text, hint="return plain values, arrays or bytes")
    else:
        error = CallFailed(text, hint=_HINTS.get(kind), done="the function was not run")
    error.__cause__ = cause
    return error


def _revive(pickled: bytes | None) -> BaseException | None:
    """None: its class is not here, or wants other arguments than it keeps."""
    if pickled is None:
        return None
    try:
        found = pickle.loads(pickled)
    except BaseException:
        return None
    return found if isinstance(found, BaseException) else None


def make_failure(ended: records.Ended, farm: str) -> WindlassError:
    """Of a call that left nothing."""
    words = {
        records.LOST: "the nodes that ran it died, again and again",
        records.STOPPED: "it was stopped",
        records.TOO_LONG: f"it took longer than task_limit, and was ended after {ended.seconds:.0f} s",
    }
    text = words.get(ended.code) or ended.last_line or f"it ended with exit code {ended.code}"
    return CallFailed(f"call {ended.task}: {text}", hint=f"windlass logs {farm} --task {ended.task}")
