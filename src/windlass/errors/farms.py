"""Errors about farms: tables of tasks, and what becomes of them."""

from windlass.errors.general import ExitCode, WindlassError


class TasksInvalid(WindlassError):
    """A table of tasks, or the command that is to be filled in from it, cannot be used. Nothing was sent.

    Each problem is told with its line. In a command `{}` is a value, `{1}` the first column, `{name}` a column of the
    table; `{{` and `}}` are braces.
    """

    code = "E941"
    exit_code = ExitCode.USAGE


class TasksFailed(WindlassError):
    """Tasks of a farm failed, and the others ended well.

    `windlass farm status FARM` shows them grouped by what they said last, `windlass logs FARM --task 17` all that one
    printed; `windlass farm retry FARM` runs them again.
    """

    code = "E942"
