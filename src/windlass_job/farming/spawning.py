"""Start the commands of tasks and know when they have ended, as fast as the system starts processes.

`posix_spawn` (see `native`), because a fork of Python copies its tables of memory; `wait4`, because it tells what a
task has used.
"""

import errno
import json
import os
import re
import shlex
import shutil
import signal
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Union

from windlass_job import wire
from windlass_job.farming.native import Environment, Native
from windlass_job.farming.parentage import be_subreaper

_NEEDS_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]#~{}!\n\r]")
_SHELL_WORDS = frozenset(
    ("if", "for", "while", "until", "case", "function", "time", "exec", "eval", "source", ".", "cd", "export", "set")
    + ("unset", "ulimit", "wait", ":", "exit", "trap", "umask", "read", "let", "declare", "local", "alias", "shift")
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_BLANKS = re.compile("[ \t]+")  # and no others: text may hold blanks of other kinds

Reaped = NamedTuple("Reaped", [("pid", int), ("status", int), ("usage", Any)])


class CannotStart(Exception):
    """With the reason."""


# As the user wrote it, and its words.
Command = NamedTuple("Command", [("text", str), ("argv", List[bytes])])


def read_command(row: bytes) -> "Union[Command, CannotStart]":
    """Of a table."""
    try:
        found = json.loads(row.decode("utf-8", "surrogatepass"))
        text = found.get("command") if isinstance(found, dict) else None
        if not isinstance(text, str) or "\0" in text:
            return CannotStart("no command: {!r}".format(text))
        return Command(text, [_encode(word) for word in make_argv(text)])
    except ValueError as error:
        return CannotStart("no command: {}".format(error))


def make_argv(command: str) -> "List[str]":
    """A plain program is started without a shell, which would cost as much again."""
    words = [] if _NEEDS_SHELL.search(command) else _split(command)
    if not words or words[0] in _SHELL_WORDS or _ASSIGNMENT.match(words[0]):
        return ["bash", "-c", command]
    return words


def _split(command: str) -> "List[str]":
    if "'" not in command and '"' not in command:
        return [word for word in _BLANKS.split(command) if word]
    try:
        return shlex.split(command)
    except ValueError:  # bash tells what is wrong with it
        return []


class Spawner:
    """For several threads at once."""

    def __init__(self, env: "Mapping[str, str]") -> None:
        self._env = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
        self._path = env.get("PATH", os.defpath)
        self._programs: "Dict[bytes, bytes]" = {}
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._native = Native(self._null)
        be_subreaper()

    def make_env(self, variables: "Mapping[str, str]", metrics: bytes = b"%d") -> Environment:
        """Of a slot; `set` takes a task's number, its try, and the number again. metrics: where it tells numbers."""
        made = dict(self._env)
        made.update({os.fsencode(name): os.fsencode(value) for name, value in variables.items()})
        names = [name.encode("ascii") for name in (wire.ENV_TASK, wire.ENV_TASK_ATTEMPT, wire.ENV_TASK_METRICS)]
        return Environment(made, dict(zip(names, (b"%d", b"%d", metrics))))

    def start(self, command: "Union[Command, CannotStart]", output: int, env: Environment) -> int:
        """Its process id; raises CannotStart. A session of its own: all of it can be killed."""
        if isinstance(command, CannotStart):
            raise command
        argv = command.argv
        program = self._find_program(argv[0])
        if program is None:
            argv = [b"bash", b"-c", _encode(command.text)]  # a builtin; or bash says that there is no such command
            program = self._find_program(b"bash")
        if program is None:
            raise CannotStart("there is no bash")
        try:
            return self._start(program, argv, env, output)
        except OSError as error:
            raise CannotStart("{}: {}".format(os.fsdecode(argv[0]), error.strerror))

    def _start(self, program: bytes, argv: "List[bytes]", env: Environment, output: int) -> int:
        try:
            return self._native.start(program, argv, env, output)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
        # A script without #!: shells run it by themselves, and so do people who try it by hand.
        return self._native.start(b"/bin/sh", [b"sh", program] + argv[1:], env, output)

    def _find_program(self, name: bytes) -> "Optional[bytes]":
        """Only what is there is kept: an earlier task may make it."""
        found = self._programs.get(name)
        if found is None:
            path = shutil.which(os.fsdecode(name), path=self._path)
            if path is None:
                return None
            found = self._programs[name] = os.fsencode(path)
        return found

    def close(self) -> None:
        os.close(self._null)


def _encode(word: str) -> bytes:
    """As UTF-8 also where the node has no locale."""
    return word.encode("utf-8", "surrogateescape")


def wait_for(pid: int) -> "Optional[Reaped]":
    """Until it has ended. None: it is there to be reaped, and its number is nobody else's until then."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return None
    return Reaped(*os.wait4(pid, 0))  # macOS


def reap(pid: int) -> Reaped:
    """One that has ended, and with it what it left in its group."""
    kill_all(pid, signal.SIGKILL)
    return Reaped(*os.wait4(pid, 0))


def reap_ended(pids: "Iterable[int]") -> "List[Reaped]":
    """Of these children."""
    if not hasattr(os, "waitid"):  # macOS
        return [one for one in (Reaped(*os.wait4(pid, os.WNOHANG)) for pid in pids) if one.pid]
    how = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return [reap(pid) for pid in pids if os.waitid(os.P_PID, pid, how) is not None]


def kill_all(pid: int, number: int) -> None:
    """A task and what it started, as far as that is in its group."""
    try:
        os.killpg(pid, number)
    except OSError:
        pass  # all of it has ended


def read_code(status: int) -> int:
    """As a shell says it."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
