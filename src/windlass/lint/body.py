"""The shell script below the directives."""

import re
from collections.abc import Iterator

from windlass.core.finding import Severity
from windlass.lint.mark import Mark
from windlass.lint.subject import Subject

_TRIFLES = frozenset(["echo", "printf", "date", "deactivate", "times", "sleep", "unset", "wait", "true", "pwd"])
_LEAVES = re.compile(r"\|\|\s*(?:exit|\{|\()|\bexit\s+(?:[1-9]|[\"']?\$)|\$\?")
_SET_E = re.compile(r"^[ \t]*set\s+(?:-\w+\s+)*-(?:\w*e\w*|o\s+errexit)", re.MULTILINE)
_SHEBANG_E = re.compile(r"^#!.*sh\s+(?:-\w+\s+)*-\w*e")
_BACKGROUND = re.compile(r"(?<![&|>])&\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*$")
_SOMEBODYS = re.compile(
    r"(?<![\w.$}/-])/(?:home|users?|u|scratch\w*|projects?|work\w*|gpfs\w*|lustre\w*|data\w*|mnt|nfs\w*|p)"
    r"/[\w.-]+(?:/[\w.-]+)+"
)


def errors_are_passed_over(subject: Subject) -> Iterator[Mark]:
    """Without `set -e` the script goes on after a command that failed: a missing module, a cd into nothing."""
    if not _stops_at_errors(subject) and len(subject.commands) > 2 and _is_shell(subject):
        line = subject.script.body
        message = "the script goes on after a command that fails"
        yield subject.at_line(line, Severity.ADVICE, message, hint="set -eo pipefail")


def exit_code_is_lost(subject: Subject) -> Iterator[Mark]:
    """The job ends as its last command does: after a training that failed, `echo done` makes it COMPLETED.

    Mails, dependencies (afterok) and sacct then say that all went well.
    """
    commands = [one for one in subject.commands if one.words and one.line >= subject.script.body]
    if not commands or not subject.trainings or _stops_at_errors(subject):
        return
    if commands[-1].words == ("exit",) and len(commands) > 1:
        commands.pop()  # it ends as the command before it
    last = commands[-1]
    if last.words == ("exit", "0") and last.is_certain and not _LEAVES.search(subject.body):
        message = "the job ends well, whatever became of the training"
        yield subject.at_command(last, Severity.WARNING, message, hint="set -e at the top, or: exit $?")
        return
    words = last.words[:2] if last.words[0] == "conda" else last.words[:1]
    if (words[0] in _TRIFLES and words[0] != "wait") or words == ("conda", "deactivate"):
        message = f"the job ends as {' '.join(words)} does, whatever became of the training"
        yield subject.at_command(
            last, Severity.WARNING, message, hint="set -e at the top, or: exit $? after the training"
        )


def background_without_wait(subject: Subject) -> Iterator[Mark]:
    """A job ends with its script: what still runs in the background is killed then."""
    if subject.calls("wait") or re.search(r"\bwait\b", subject.body):
        return
    for number in range(subject.script.body, len(subject.script.lines) + 1):
        line = subject.text_of(number)
        if _BACKGROUND.search(line) and not line.lstrip().startswith("#") and number not in subject.hidden_lines:
            yield subject.at_line(
                number, Severity.WARNING, "nothing waits for this: it is killed when the script ends", hint="wait"
            )


def spaces_around_equals(subject: Subject) -> Iterator[Mark]:
    """With spaces around it, = is no assignment: the shell runs a program of that name."""
    for command in subject.commands:
        words = command.words
        if len(words) >= 2 and words[1] == "=" and _ASSIGNED.match(words[0]):
            message = f"{words[0]} is run as a program here"
            hint = f"{words[0]}={words[2]}" if len(words) > 2 else None
            yield subject.at_command(command, Severity.ERROR, message, hint=hint)


def python_is_buffered(subject: Subject) -> Iterator[Mark]:
    """Python keeps its output back until it has 8 kB: the log lags, and its last words are lost when it is killed."""
    if "PYTHONUNBUFFERED" in subject.script.text or subject.is_planned:
        return
    for command, starters in subject.trainings:
        words = subject.flat(command)
        if "-u" not in words and not {"torchrun", "accelerate", "deepspeed"} & set(starters):
            hint = "export PYTHONUNBUFFERED=1"
            yield subject.at_command(command, Severity.ADVICE, "the log lags behind the program", hint=hint)
            return


def path_of_somebody(subject: Subject) -> Iterator[Mark]:
    """A path that exists for one person at one centre. Variables such as $HOME and $SCRATCH go along."""
    if subject.is_planned:
        return
    seen: set[str] = set()
    for number in range(subject.script.body, len(subject.script.lines) + 1):
        line = subject.text_of(number)
        if line.lstrip().startswith("#"):
            continue
        for match in _SOMEBODYS.finditer(line):
            root = "/".join(match[0].split("/")[:4])
            if root not in seen:
                seen.add(root)
                yield Mark(
                    severity=Severity.ADVICE,
                    message=f"{match[0]} exists for one person at one centre",
                    line=number,
                    column=match.start() + 1,
                    length=len(match[0]),
                )


def _stops_at_errors(subject: Subject) -> bool:
    return bool(_SET_E.search(subject.script.text) or _SHEBANG_E.match(subject.script.text))


def _is_shell(subject: Subject) -> bool:
    return bool(re.match(r"#!.*sh\b", subject.script.text))
