"""What all errors have, and those that every command can meet."""

from collections.abc import Sequence
from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    OK = 0  # done
    FAILED = 1  # something went wrong: see the message; or tasks of a farm failed
    USAGE = 2  # the command line or a file of yours is wrong
    CHECK_FAILED = 3  # a plan cannot be made or a check found errors; nothing was sent
    LOG_IN = 4  # log in again: windlass login SITE
    REFUSED = 5  # Slurm refused the job
    NOT_FOUND = 6  # no such run, site or code
    JOB_FAILED = 7  # the run ended without success
    WOULD_FAIL = 8  # a rehearsal found what would have failed, or could not be carried out on this laptop
    INTERRUPTED = 130  # Ctrl-C; the run itself was left alone


class WindlassError(Exception):
    """Something went wrong that Windlass expected could go wrong."""

    code: ClassVar[str] = "E100"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(
        self,
        message: str,
        *,
        details: Sequence[str] = (),
        said: str | None = None,
        hint: str | None = None,
        done: str | None = None,
    ) -> None:
        """`said`: the other program's own words. `hint`: a command to paste. `done`: what was and was not done."""
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.said = said
        self.hint = hint
        self.done = done

    def __str__(self) -> str:
        return "\n".join((self.message, *self.details))


class UsageError(WindlassError):
    """The command line does not make sense.

    Run the command with --help: it lists every option with an example.
    """

    code = "E101"
    exit_code = ExitCode.USAGE


class ConfigError(WindlassError):
    """A file of yours (windlass.toml or a site file) has problems.

    All of them are listed with file, line and key. `windlass config --origin` shows every value and where it
    came from. The keys are described in the reference: docs/reference/run-file.md and site-file.md.
    """

    code = "E102"
    exit_code = ExitCode.USAGE


class SnapshotError(WindlassError):
    """Your project cannot be sent as it is: too large, too many files, or files that cannot be read.

    Data does not travel with the code. Leave folders out with `exclude = ["data/**"]` under [run], or raise
    `max_mb` / `max_files` there if you mean it.
    """

    code = "E103"
    exit_code = ExitCode.USAGE


class PlanError(WindlassError):
    """What you ask for cannot be had at this site: too many GPUs, an unknown partition, a time without a limit.

    `windlass site show NAME` lists what the site has. Nothing is sent when a plan cannot be made.
    """

    code = "E201"
    exit_code = ExitCode.CHECK_FAILED

    def __init__(
        self,
        message: str,
        *,
        details: Sequence[str] = (),
        hint: str | None = None,
        done: str | None = None,
        about: str | None = None,
    ) -> None:
        """`about`: the key of [resources] that would have to change, where it is one."""
        super().__init__(message, details=details, hint=hint, done=done)
        self.about = about


class CheckFailed(WindlassError):
    """A check before submission found something that would fail in the queue or on the node.

    Each finding carries its own fix. `--force` submits all the same when you know better.
    """

    code = "E202"
    exit_code = ExitCode.CHECK_FAILED


class ClusterRefused(WindlassError):
    """Slurm refused the job. Its own words are quoted, with the most likely cause.

    Nothing was submitted, and the run leaves nothing behind.
    """

    code = "E301"
    exit_code = ExitCode.REFUSED


class ClusterUnavailable(WindlassError):
    """Slurm at the site does not answer, or answers with something that cannot be read.

    The controller may be restarting. Your runs are not affected: jobs go on without it. Try again in a minute.
    """

    code = "E302"
    exit_code = ExitCode.FAILED


class SubmissionUnclear(WindlassError):
    """A submission was interrupted and it cannot yet be told whether Slurm took the job.

    Nothing is sent twice: the token of the submission decides. `windlass ps --refresh` looks again.
    """

    code = "E303"
    exit_code = ExitCode.FAILED


class LoginNeeded(WindlassError):
    """There is no open connection to the site and it cannot be opened without you (password or second factor).

    Run `windlass login SITE` in your terminal: ssh asks there, once. Running jobs do not need the connection.
    """

    code = "E401"
    exit_code = ExitCode.LOG_IN


class HostKeyChanged(LoginNeeded):
    """The machine that answers has another host key than the one you know: a reinstalled login node, or an attack.

    Compare the fingerprint with the one the centre publishes before you remove the old key with `ssh-keygen -R`.
    """

    code = "E402"


class HostUnreachable(WindlassError):
    """The site's login host does not answer: no network, VPN down, wrong name, or maintenance.

    Try `ssh HOST` by hand: if that works, Windlass works. Jobs at the site go on meanwhile.
    """

    code = "E403"
    exit_code = ExitCode.FAILED


class ConnectionLost(WindlassError):
    """The connection broke in the middle of an answer and came not back after several tries.

    What was submitted stays submitted; the next command finds out by the run's token.
    """

    code = "E404"
    exit_code = ExitCode.FAILED


class SiteNotReady(WindlassError):
    """The site answered, but something Windlass needs is missing there (Python 3.6, Slurm's commands, a folder).

    `windlass site check SITE` tells what is there and what is not.
    """

    code = "E405"
    exit_code = ExitCode.FAILED


class NotFound(WindlassError):
    """There is no such run, site or code.

    `windlass ps --all` lists runs, `windlass sites` lists sites. `windlass ps --refresh` asks the sites again.
    """

    code = "E501"
    exit_code = ExitCode.NOT_FOUND


class RunFolderGone(WindlassError):
    """The run's folder at the site is gone: removed by somebody, or purged (scratch areas are cleaned by age).

    What the laptop still knows is shown by `windlass ps`; `windlass rm RUN` forgets it.
    """

    code = "E502"
    exit_code = ExitCode.NOT_FOUND


class StoreError(WindlassError):
    """The laptop's own memory of your runs cannot be read or written.

    It is a cache: a damaged one is moved aside and rebuilt with `windlass ps --refresh`. Nothing at a site is lost.
    """

    code = "E601"
    exit_code = ExitCode.FAILED


class DiskFull(WindlassError):
    """A file could not be written: the disk or the quota is full.

    Nothing half-written is left behind. Free some space, then run the same command again.
    """

    code = "E602"
    exit_code = ExitCode.FAILED


class OutputLost(WindlassError):
    """The answer could not be written to standard output: it is closed, or its disk is full.

    What the command was asked to do was done; standard error says what.
    """

    code = "E603"
    exit_code = ExitCode.FAILED


class JobFailed(WindlassError):
    """The run ended without success. `windlass explain RUN` says why, `windlass logs RUN` shows its words."""

    code = "E701"
    exit_code = ExitCode.JOB_FAILED


class Interrupted(WindlassError):
    """You pressed Ctrl-C. The run itself was left alone unless the message says otherwise."""

    code = "E130"
    exit_code = ExitCode.INTERRUPTED
