"""A warm worker: the process of a slot that runs calls of Python functions, one after another, until its pilot ends.

Which call is next comes as a token through a pipe that the pilot reads too: so it can take back what has not begun, and
no call is run twice. The calls themselves and the reports are in files without a name: nothing blocks, and what was
reported is there even when this process dies a moment later.

Run by the Python of the run's environment, in the run's folder, not isolated from either: the functions are there.
"""

import argparse
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import types
from typing import Any, Mapping, Tuple

from windlass_job import disk, wire
from windlass_job.farming import records, reports
from windlass_job.farming.functions import CannotLoad, Functions, describe
from windlass_job.farming.parentage import end_with_parent
from windlass_job.farming.reports import Report

_AHEAD = 256 << 10  # bytes of calls that are read at once
_LONG_S = 0.01  # of what took so long it is also seen what its own processes have used


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--farm", required=True, help="its folder")
    parser.add_argument("--handles", required=True, help="open files: of tokens, calls and reports")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    tokens, calls, told = (int(word) for word in options.handles.split(","))
    for handle in (tokens, calls, told):
        os.set_inheritable(handle, False)
    end_with_parent(signal.SIGKILL)  # nobody would take what it still does
    be_like_a_script()
    Callee(Functions(disk.as_path(options.farm)), calls, told).work(tokens)
    return 0


class Callee:
    def __init__(self, functions: Functions, calls: int, told: int) -> None:
        self._functions, self._calls, self._told = functions, calls, told
        self._ahead, self._ahead_at = b"", 0
        self._attempt = 0
        self._used_s = 0.0
        self._children_s = 0.0
        self._pid = os.getpid()

    def work(self, tokens: int) -> None:
        while True:
            token = os.read(tokens, reports.TOKEN.size)
            if not token:
                return  # the pilot has ended, or wants no more
            self._run(*self._load_call(reports.TOKEN.unpack(token)[0]))

    def _load_call(self, at: int) -> "Tuple[int, int, bytes]":
        begin, head = at - self._ahead_at, reports.CALL_HEAD
        if begin < 0 or begin + head > len(self._ahead):
            self._read_ahead(at, _AHEAD)
            begin = 0
        call = reports.read_call(self._ahead, begin)
        if begin + head + call.size > len(self._ahead):
            self._read_ahead(at, max(_AHEAD, head + call.size))
            begin = 0
        return call.task, call.attempt, self._ahead[begin + head : begin + head + call.size]

    def _read_ahead(self, at: int, size: int) -> None:
        """What is there of it; a system gives at most 2 GB at once."""
        content = os.pread(self._calls, size, at)
        while 0 < len(content) < size:
            piece = os.pread(self._calls, size - len(content), at + len(content))
            if not piece:
                break
            content += piece
        self._ahead, self._ahead_at = content, at

    def _run(self, task: int, attempt: int, row: bytes) -> None:
        os.environ[wire.ENV_TASK] = str(task)
        if attempt != self._attempt:
            self._attempt = attempt
            os.environ[wire.ENV_TASK_ATTEMPT] = str(attempt)
        start = time.time()
        code, payload, last_line = self._call(row)
        seconds = time.time() - start
        if os.getpid() != self._pid:
            os._exit(0)  # the function forked, and its child came back
        _flush()
        cpu_s, memory_mb = self._measure(seconds)
        ended = records.Ended(task, attempt, code, start, max(0.0, seconds), cpu_s, memory_mb, last_line)
        self._report(ended, payload)

    def _call(self, row: bytes) -> "Tuple[int, bytes, str]":
        """Exit code, result, and what is said of a failure in a line."""
        try:
            function = self._functions.load(row[: wire.CALL_DIGEST])
            args, kwargs = self._load_arguments(row[wire.CALL_DIGEST :])
            value = function(*args, **kwargs)
        except CannotLoad as error:
            cause = error.cause
            return 1, format_error(error.kind, str(error), _format_traceback(cause) if cause else ""), str(error)
        except BaseException as error:  # SystemExit and KeyboardInterrupt are the call's own too
            text = describe(error)
            return 1, format_error(wire.RAISED, text, _format_traceback(error), self._try_pickle(error)), text
        try:
            return 0, wire.CALL_VALUE + self._functions.dump(value), ""
        except Exception as error:
            text = "what it returned, a {}, cannot be pickled: {}".format(type(value).__name__, describe(error))
            return 1, format_error(wire.NO_RESULT, text, _format_traceback(error)), text

    def _try_pickle(self, error: BaseException) -> "Any":
        try:
            return self._functions.dump(error)
        except Exception:  # then there is its text
            return None

    def _load_arguments(self, content: bytes) -> "Tuple[Any, Any]":
        try:
            return self._functions.load_arguments(content)
        except Exception as error:
            raise CannotLoad(wire.NO_ARGUMENTS, "its arguments cannot be loaded: " + describe(error), error)

    def _measure(self, seconds: float) -> "Tuple[float, float]":
        """Processor seconds since the last call, and the most megabytes so far."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        before, self._used_s = self._used_s, used.ru_utime + used.ru_stime
        cpu_s = self._used_s - before
        if seconds > _LONG_S:
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            before, self._children_s = self._children_s, children.ru_utime + children.ru_stime
            cpu_s += self._children_s - before
        return cpu_s, used.ru_maxrss / 1024.0

    def _report(self, ended: records.Ended, payload: bytes) -> None:
        lines = records.format_end(ended).encode("ascii")
        if ended.code:  # a task that is run again is not over, however it ended before
            lines = records.format_start(ended.task, ended.attempt, ended.start).encode("ascii") + lines
        printed = os.lseek(1, 0, os.SEEK_END)
        head = Report(
            ended.task, ended.attempt, ended.code, len(lines), len(payload), printed, ended.start, ended.seconds
        )
        self._write(reports.format_head(head) + lines, payload)

    def _write(self, head: bytes, payload: bytes) -> None:
        written = os.writev(self._told, [head, payload])
        if written < len(head) + len(payload):
            view = memoryview(head + payload)[written:]
            while len(view):
                view = view[os.write(self._told, view) :]


def format_error(kind: str, text: str, trace: str, pickled: "Any" = None) -> bytes:
    return wire.CALL_ERROR + pickle.dumps((kind, text, trace, pickled), 4)


def _format_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, _skip_own(error.__traceback__)))


def _skip_own(trace: "Any") -> "Any":
    """Without the lines of this file, which are no help to anybody."""
    while trace is not None and trace.tb_frame.f_code.co_filename == _call_code.co_filename:
        trace = trace.tb_next
    return trace


_call_code = _skip_own.__code__


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the function has closed or replaced it


def be_like_a_script() -> None:
    """Modules of the run's folder can be imported, and nothing of ours is called __main__."""
    sys.path[0] = os.getcwd()  # in the place of this package
    sys.argv[:] = [""]
    sys.modules["__main__"] = types.ModuleType("__main__")
    for name in ("stdout", "stderr"):
        stream = os.fdopen(1 if name == "stdout" else 2, "w", 1, "utf-8", "backslashreplace", None, False)
        setattr(sys, name, stream)
