"""Where the job's words go."""

import re
from collections.abc import Iterator, Sequence

from windlass.core.finding import Severity
from windlass.core.sbatch.script import Option
from windlass.core.source.shell_commands import ShellCommand
from windlass.lint.mark import Mark
from windlass.lint.subject import VARIABLE, Subject

_UNIQUE = re.compile(r"%\d*[jJA]")
_TASK = re.compile(r"%\d*[ajJ]")
_FORGOTTEN = re.compile(r"(?<![%\w])[jJ](?=\.|$)")
_DEFAULT_LOG = re.compile(r"slurm-(\$\{?SLURM_JOB_?ID\}?|%j|\*|\d+|\$\{?1\}?|<\w+>)\.out")
_OUTSIDE_A_JOB = re.compile(r"-z\s+[\"']?\$\{?SLURM_JOB_?ID")
# What a file name of sbatch's has in place of a variable.
_PATTERNS = {
    "USER": "%u",
    "LOGNAME": "%u",
    "SLURM_JOB_ID": "%j",
    "SLURM_JOBID": "%j",
    "SLURM_JOB_NAME": "%x",
    "SLURM_ARRAY_JOB_ID": "%A",
    "SLURM_ARRAY_TASK_ID": "%a",
}
_DISCARDED = ("/dev/null", "none", "")


def logs_overwrite_each_other(subject: Subject) -> Iterator[Mark]:
    """Every run writes to the same file: the log of the one before is gone. %j is the job's number."""
    for option in _outputs(subject):
        if subject.has("array") or _FORGOTTEN.search(option.value) or _UNIQUE.search(option.value):
            continue
        if subject.value("open-mode")[:1].lower() != "a":
            message = f"every run overwrites {option.value}"
            yield subject.at_option(option, Severity.WARNING, message, hint=_advise(option, "%j"))


def array_logs_overwrite_each_other(subject: Subject) -> Iterator[Mark]:
    """The tasks of the array write into one file at the same time. %A is the array's number, %a the task's."""
    for option in _outputs(subject):
        if subject.has("array") and not _TASK.search(option.value) and subject.value("open-mode")[:1].lower() != "a":
            message = f"all tasks of the array write to {option.value}"
            yield subject.at_option(option, Severity.ERROR, message, hint=_advise(option, "%A_%a"))


def percent_is_missing(subject: Subject) -> Iterator[Mark]:
    """A lone j or J in a log's name is the letter; the job's number is %j."""
    for option in _outputs(subject):
        if _FORGOTTEN.search(option.value):
            hint = f"--{option.name}={_FORGOTTEN.sub('%j', option.value)}"
            yield subject.at_option(
                option, Severity.WARNING, "j without % is the letter, not the job's number", hint=hint
            )


def log_folder_must_be_there(subject: Subject) -> Iterator[Mark]:
    """The folder of the log must be there when the job starts, else it fails at once, without a word anywhere.

    Slurm makes no folders: JobState=FAILED, Reason=JobLaunchFailure, ExitCode=0:53. A folder named after the job's
    number can never be there.
    """
    made = _made_folders(subject)
    for option in _outputs(subject):
        parent = option.value.rpartition("/")[0]
        if number := _UNIQUE.search(parent):
            message = f"{parent} cannot be there: {number[0]} is known only when the job is, and Slurm makes no folders"
            hint = f"--{option.name}={_flatten(option.value, number.start())}"
            yield subject.at_option(option, Severity.ERROR, message, hint=hint)
            continue
        folder = _folder(option.value)
        if folder and not folder.startswith(("/", "~", "$")) and folder not in made:
            message = f"the folder {folder} must be there before you submit"
            yield subject.at_option(option, Severity.WARNING, message, hint=f"mkdir -p {folder}")


def log_folder_is_made_too_late(subject: Subject) -> Iterator[Mark]:
    """The script makes the folder of its own log, but when it is missing the job never starts, and makes nothing."""
    folders = {_folder(option.value) for option in _outputs(subject)} - {"", "."}
    submissions = subject.calls("sbatch")
    is_run_by_hand = _OUTSIDE_A_JOB.search(subject.body) is not None
    for command in subject.calls("mkdir"):
        # A script that is run by hand first, makes its folder, and then submits itself.
        if not command.is_certain and (is_run_by_hand or _is_before(command, submissions)):
            continue
        for word in command.words[1:]:
            if word.rstrip("/").removeprefix("./") in folders:
                message = f"too late: without {word} the job does not start"
                yield subject.at_command(command, Severity.ERROR, message, hint=f"before you submit: mkdir -p {word}")


def log_is_elsewhere(subject: Subject) -> Iterator[Mark]:
    """The script speaks of slurm-NUMBER.out, but --output names another file."""
    option = subject.option("output")
    if option is None or "slurm-" in option.value:
        return
    for number, line in enumerate(subject.script.lines, 1):
        is_comment = line.lstrip().startswith("#")
        # A comment that explains --output tells what Slurm does without it.
        if line.startswith("#SBATCH") or (is_comment and re.search(r"default|without|unless", line, re.IGNORECASE)):
            continue
        if match := _DEFAULT_LOG.search(line):
            yield Mark(
                severity=Severity.ADVICE if is_comment else Severity.WARNING,
                message=f"the log is {option.value}, not {match[0]}",
                line=number,
                column=match.start() + 1,
                length=len(match[0]),
            )


def _outputs(subject: Subject) -> Iterator[Option]:
    for name in ("output", "error"):
        option = subject.option(name)
        if option is not None and option.value not in _DISCARDED and not option.value.startswith("/dev/"):
            yield option


def _folder(value: str) -> str:
    folder = value.rpartition("/")[0].removeprefix("./")
    return "" if folder in (".", "..") or "%" in folder else folder


def _flatten(value: str, at: int) -> str:
    """`logs/%j/out.log` as `logs/%j-out.log`: from the folder with the number on, one name."""
    head, slash, folder = value[:at].rpartition("/")
    parts = (folder + value[at:]).split("/")
    unique = _UNIQUE.search(parts[-1])
    return head + slash + (parts[-1] if unique else "-".join(parts))


def _made_folders(subject: Subject) -> set[str]:
    return {word.rstrip("/").removeprefix("./") for one in subject.calls("mkdir") for word in one.words[1:]}


def _is_before(command: ShellCommand, others: Sequence[ShellCommand]) -> bool:
    """Whether one of the others, which are in order, comes later."""
    return bool(others) and (others[-1].line, others[-1].column) > (command.line, command.column)


def _advise(option: Option, number: str) -> str:
    value = option.value
    for variable, pattern in _PATTERNS.items():
        value = re.sub(rf"\$(?:{variable}\b|\{{{variable}\}})", pattern, value)
    if VARIABLE.search(value):
        return f"{number} in its name; variables are not expanded here"
    return f"--{option.name}={value if number in value else _with_number(value, number)}"


def _with_number(value: str, number: str) -> str:
    head, slash, name = value.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    named = f"{stem}-{number}.{ending}" if dot and stem else f"{name}-{number}"
    return f"{head}{slash}{named}"
