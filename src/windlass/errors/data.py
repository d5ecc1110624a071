"""Errors about data sets: packed, sent, converted."""

from windlass.errors.general import ExitCode, WindlassError


class ConvertError(WindlassError):
    """A data set could not be converted: what was read is damaged or of no known form, or the target is in the way.

    What was being written has been removed, and what was there before was left alone. `windlass data convert --help`
    lists the formats. A damaged source must be made anew, or fetched again from where it came from.
    """

    code = "E811"
    exit_code = ExitCode.FAILED


class LibraryMissing(ConvertError):
    """A format needs a library or a program that is not installed here.

    The message names it, with the command that installs it. Windlass itself needs none of them.
    """

    code = "E812"
    exit_code = ExitCode.USAGE


class TransferFailed(WindlassError):
    """Data could not be moved: the disk or the quota there is full, the folder cannot be written, or bytes are damaged.

    What had arrived whole stays where it is, and nothing half-sent has its final name. Mend what the message names,
    then give the same command again: it goes on where it was.
    """

    code = "E821"
    exit_code = ExitCode.FAILED


class TransferBusy(TransferFailed):
    """Two commands may not send into the same data set at the same time, and another one is at it.

    `windlass data sends` lists those of this laptop. A command that was killed keeps nobody out; one whose laptop lost
    its network does so for two minutes at most.
    """

    code = "E822"
    exit_code = ExitCode.FAILED


class DataNotFound(WindlassError):
    """There is no data set of that name at the site, or no packed data set at that path.

    `windlass data ls --on SITE` lists what is there. `windlass data send FOLDER --name NAME --on SITE` brings one.
    """

    code = "E801"
    exit_code = ExitCode.NOT_FOUND


class DataDamaged(WindlassError):
    """Bytes of a data set are not those that were packed, or parts of it are missing. Each damaged file is named.

    Pack or send it again from its source with --anew. `windlass data verify` looks again.
    """

    code = "E802"
    exit_code = ExitCode.FAILED


class DataInUse(WindlassError):
    """A run that is waiting or running reads this data set: it is not removed.

    Wait for the run (`windlass wait RUN`), or take it out of the queue (`windlass cancel RUN`).
    """

    code = "E803"
    exit_code = ExitCode.FAILED


class DataFailed(WindlassError):
    """Work on a data set could not be done: a source that cannot be read, a target that is something else.

    What was there before is as it was. Where it had begun, the same command goes on where it stopped.
    """

    code = "E804"
