"""A shell in a job: set up as the run is, its exit code passed on, and ended when nobody uses it."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Mapping, Optional

from windlass_job import processes, wire
from windlass_job.command import as_exit_code
from windlass_job.serving.idleness import Idleness, Look, choose_pause_s, count_cpu_s, format_minutes

_FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)  # for whoever is in the foreground, never for us
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_LEAVE_S = 5.0
_OF_THIS_STEP = ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_DISTRIBUTION")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--idle", type=float, help="seconds without use after which it is ended; default: never")
    parser.add_argument("--lines", help="what bash reads after the user's own .bashrc, which may undo it otherwise")
    parser.add_argument("command", nargs=argparse.REMAINDER)


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    return Shell(options, dict(env)).run()


class Shell:
    def __init__(self, options: argparse.Namespace, env: Dict[str, str]) -> None:
        self._options = options
        self._env = make_environment(env)
        # Somebody who types can only be seen where there is a terminal.
        after_s = options.idle if os.isatty(0) else None
        self._idleness = Idleness(after_s, time.time())
        self._pause_s = choose_pause_s(after_s)
        self._is_warned = False
        self._stop_at = 0.0

    def run(self) -> int:
        rc_file = self._write_rc() if self._options.lines is not None else None
        argv = list(self._options.command)
        if rc_file and os.isatty(0):
            argv += ["--rcfile", rc_file, "-i"]
        elif rc_file:
            self._env["BASH_ENV"] = rc_file  # what a bash reads that reads its commands from elsewhere
        for number in _FROM_THE_KEYBOARD:
            signal.signal(number, signal.SIG_IGN)
        try:
            child = subprocess.Popen(argv, env=self._env, preexec_fn=_be_usual)
        except OSError as error:
            _remove(rc_file)
            sys.stderr.write("windlass: {}: {}\n".format(argv[0], error.strerror))
            return wire.EXIT_NOT_STARTED
        try:
            return self._watch(child)
        finally:
            _remove(rc_file)

    def _write_rc(self) -> str:
        handle, path = tempfile.mkstemp(prefix="windlass-shell-")
        # Its reader removes it, for we may be killed; bash has read all of a file before it runs the first line.
        first = "command rm -f -- {}\nunset BASH_ENV\n".format(shlex.quote(path))
        with open(handle, "w") as file:
            file.write("{}[ ! -e ~/.bashrc ] || . ~/.bashrc\n{}\n".format(first, self._options.lines))
        return path

    def _watch(self, child: "subprocess.Popen[bytes]") -> int:
        for number in _PASSED_ON:
            signal.signal(number, lambda received, _: _send(child.pid, received))
        while True:
            try:
                return as_exit_code(child.wait(self._pause_s))
            except subprocess.TimeoutExpired:
                if self._is_over(time.time()):
                    _end(child)
                    return wire.EXIT_IDLE

    def _is_over(self, now: float) -> bool:
        self._idleness.take(Look(now, False, find_last_input(), count_cpu_s(os.getpid())))
        if self._idleness.is_over(now):
            self._tell("nobody has used this shell for {}: it is ended".format(format_minutes(self._options.idle)))
            return True
        is_warned = self._idleness.is_warned(now)
        if is_warned and not self._is_warned:
            left = format_minutes(self._idleness.count_left_s(now) or 0.0)
            self._tell("nobody has typed here, and nothing computes: in {} this shell is ended".format(left))
        self._is_warned = is_warned
        return False

    def _tell(self, words: str) -> None:
        try:
            os.write(2, "\r\nwindlass: {}\r\n".format(words).encode("utf-8"))
        except OSError:
            pass  # the terminal is gone


def make_environment(env: Mapping[str, str]) -> Dict[str, str]:
    """For an `srun` in it: this shell is one task on one node, and the job may have more."""
    made = {name: value for name, value in env.items() if name not in _OF_THIS_STEP}
    # A step of the user's own would wait for ever for the cores that this one holds.
    made["SLURM_OVERLAP"] = "1"
    nodes = env.get("SLURM_JOB_NUM_NODES")
    return dict(made, SLURM_NNODES=nodes) if nodes else made


def find_last_input() -> Optional[float]:
    """When something was typed last, by the clock of the terminal: the kernel keeps it to some seconds."""
    try:
        return os.fstat(0).st_atime
    except OSError:
        return None


def _remove(rc_file: Optional[str]) -> None:
    try:
        os.unlink(rc_file or "")
    except OSError:
        pass  # it was read, or there was none


def _be_usual() -> None:
    for number in _FROM_THE_KEYBOARD:
        signal.signal(number, signal.SIG_DFL)


def _end(child: "subprocess.Popen[bytes]") -> None:
    """As a closed terminal does; who stays is killed."""
    _send(child.pid, signal.SIGHUP)
    _send(child.pid, signal.SIGCONT)
    try:
        child.wait(_LEAVE_S)
    except subprocess.TimeoutExpired:
        below: List[Any] = processes.find_tree(child.pid, processes.load_processes())
        for process in reversed(below):
            _send(process.pid, signal.SIGKILL)
        child.wait()


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has just ended
