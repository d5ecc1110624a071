"""Errors of what shows runs: the dashboard and the terminal's screen."""

from windlass.errors.general import ExitCode, WindlassError


class ExtraMissing(WindlassError):
    """A command needs packages that Windlass itself does without, and they are not installed.

    The message names the line for pip. Everything else works without them.
    """

    code = "E931"
    exit_code = ExitCode.USAGE


class ServerNotStarted(WindlassError):
    """The dashboard could not be started: its port is taken, or another one is in the way and does not answer.

    `windlass dash --port 0` takes any port that is free. The page is at 127.0.0.1 only, whatever the port.
    """

    code = "E932"
