"""Errors of `windlass.Executor`: functions that are called at a site."""

from windlass.errors.general import ExitCode, WindlassError


class NotSendable(WindlassError):
    """A function or its arguments cannot be sent to a site, because pickle does not know how.

    Open files, locks, connections and generators are such things: make them inside the function. Nothing was sent.
    """

    code = "E951"
    exit_code = ExitCode.USAGE


class CallFailed(WindlassError):
    """A call of a function ended at the site without a result, and without an exception that could be raised here.

    Its process died, it took too long, it was stopped, or nodes died under it again and again. The message says which;
    what it printed is in `future.output()`, and `windlass logs FARM --task 17` shows it.
    """

    code = "E952"
    exit_code = ExitCode.JOB_FAILED


class OtherPython(WindlassError):
    """A function was sent as code, and the environment of the run has another minor version of Python. It was not run.

    Functions of a script, a notebook or a lambda are sent as code. Put them into a module of the project, which goes
    along as a file, or have the same minor version on both sides: in [environment], or of the Python that you use here.
    """

    code = "E953"
    exit_code = ExitCode.CHECK_FAILED


class ResultNotReadable(WindlassError):
    """A call was run, and what it returned cannot be brought here: it cannot be pickled there, or not be read here.

    Values of a library need that library here too. Return plain values, arrays or bytes, or write a file and return its
    name: `windlass fetch` brings it.
    """

    code = "E954"


class PilotsGone(WindlassError):
    """The jobs that run the calls of an executor ended again and again without having run any of them.

    `windlass explain RUN` says why. The calls are still in the table: `Executor.attach(NAME)` goes on with them.
    """

    code = "E955"
    exit_code = ExitCode.JOB_FAILED
