"""The user's command as a child process: start it, ask it to stop, know when it has ended.

Whom to ask is the difficult part:
- not every process: PyTorch's data loader workers die of SIGTERM, and the training then dies of the missing worker
  while it saves;
- not only the first: a shell dies of SIGTERM at once and leaves the training running, unasked;
- never srun: on SIGTERM it kills its tasks with SIGKILL ("forcing job termination", Slurm 22.05). It passes SIGUSR1
  on to them, but only to the first process of each;
- not the program that runs a container: it hands the signal on, so that one below it would get it twice; and not a
  shell inside, whose death ends the container, and with it the file system under the training that still saves. Such a
  shell is held until what it started has ended.
"""

import os
import signal
import subprocess
import time
from typing import Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from windlass_job import processes, wire
from windlass_job.processes import Process
from windlass_job.signals import Signals

SHELLS = frozenset(["bash", "sh", "dash", "zsh", "ksh", "tcsh", "csh", "fish", "busybox"])
FILTERS = frozenset(["tee", "cat", "grep", "sed", "awk", "gawk", "mawk", "ts", "tr", "head", "tail", "logger"])
CONTAINERS = frozenset(["apptainer", "singularity", "starter", "starter-suid"])  # as the kernel names them
MOUNTERS = frozenset(["squashfuse_ll", "squashfuse", "fuse2fs", "fuse-overlayfs", "gocryptfs"])  # beside a container
KILL_S = 10.0  # for killed processes to be gone
ALERT_S = 0.1  # how often to look once the command was asked to stop
TASK_SIGNAL = signal.SIGUSR1  # they hand it on as it is, and kill their tasks at others
STARTERS = frozenset(["srun", "mpirun"])


class Command:
    def __init__(self, argv: Sequence[str], env: Mapping[str, str], stderr: Optional[int] = None) -> None:
        """May raise OSError. Output is inherited: no pipe of ours stands between the training and its log.

        stderr: another opening of the same file.
        """
        # close_fds: PMI-2 hands an open socket to the task. A session of its own: all that belongs to it is known.
        self._child = subprocess.Popen(
            list(argv), env=dict(env), stderr=stderr, close_fds=False, start_new_session=True
        )
        self.pid = self._child.pid
        self.is_asked_to_stop = False
        self._asked: Set[int] = set()
        self._held: Set[int] = set()
        self._number = 0

    def poll(self) -> Optional[int]:
        """None while it runs, else as subprocess: the exit code, or minus the signal.

        A command whose first process, often a shell, died of being asked to stop has ended when the others have.
        """
        code = self._child.poll()
        if code is None and self._held:
            self._let_go()
        if code is None or not self.is_asked_to_stop or code != -self._number:
            return code
        return None if self._has_others() else code

    def ask_to_stop(self, number: int, stop_steps: Optional[Callable[[], object]] = None) -> None:
        """Send the signal to those who should have it; `stop_steps` is called for a foreign srun."""
        if self.is_asked_to_stop:
            return
        self.is_asked_to_stop = True
        self._number = number
        alive = processes.load_processes()
        if not alive:
            _send(-self.pid, number)
            return
        asked, held = find_those_to_ask(self.pid, alive)
        for process in held:
            self._held.add(process.pid)
            _send(process.pid, signal.SIGSTOP)
        for process in asked:
            self._ask(process, stop_steps)

    def kill(self, limit_s: float) -> int:
        """Every process of the command, at once and whoever started it. The code as subprocess has it."""
        deadline = time.monotonic() + limit_s
        sessions = {self.pid}
        while True:
            ours = self._find_ours(sessions)
            sessions.update(process.session for process in ours)
            for process in ours:
                _send(process.pid, signal.SIGKILL)
            code = self._child.poll()
            if (code is not None and not ours) or time.monotonic() > deadline:
                return -signal.SIGKILL if code is None else code
            _send(-self.pid, signal.SIGKILL)
            time.sleep(ALERT_S / 2)

    def _find_ours(self, sessions: Set[int]) -> List[Process]:
        """Those in these sessions, and what they started in sessions of their own, as torchrun does."""
        alive = processes.load_processes()
        mine = [process for process in alive.values() if process.session in sessions]
        found = {process.pid: process for first in mine for process in processes.find_tree(first.pid, alive)}
        return list(found.values())

    def _ask(self, process: Process, stop_steps: Optional[Callable[[], object]]) -> None:
        self._asked.add(process.pid)
        if process.name in STARTERS and wire.RANK_ENV in processes.load_command_line(process.pid):
            _send(process.pid, TASK_SIGNAL)
        elif process.name != "srun":
            _send(process.pid, self._number)
        elif stop_steps is not None:
            stop_steps()

    def _let_go(self) -> None:
        """Shells in a container whose children have ended: they do not go on with their next line."""
        parents = {process.parent for process in processes.load_processes().values()}
        for pid in self._held - parents:
            self._held.discard(pid)
            _send(pid, self._number)
            _send(pid, signal.SIGCONT)

    def _has_others(self) -> bool:
        """Processes of ours that outlive the first one; those nobody has asked yet are asked now."""
        alive = {process.pid: process for process in processes.load_processes().values() if process.session == self.pid}
        orphans = [process for process in alive.values() if process.parent not in alive]
        for process in leave_out_readers(orphans, list(alive.values())):
            if process.pid not in self._asked:
                self._ask(process, None)
        return bool(alive)


def follow(command: Command, signals: Signals, stop: int, is_given_up: Callable[[], bool] = lambda: False) -> int:
    """Until the command has ended; whatever signal comes, it is asked to stop. The code as subprocess has it.

    is_given_up: another job has taken over, and the command is killed.
    """
    while True:
        code = command.poll()
        if code is not None:
            return code
        if is_given_up():
            return command.kill(KILL_S)
        if signals.is_noticed or signals.is_cancelled:
            command.ask_to_stop(stop)
        signals.wait(ALERT_S if command.is_asked_to_stop else 60.0)


def as_exit_code(code: int) -> int:
    """As a shell says it: 128 and the signal's number for a command that a signal killed."""
    return code if code >= 0 else 128 - code


def find_those_to_ask(first: int, alive: Dict[int, Process]) -> Tuple[List[Process], List[Process]]:
    """The first process or, where that is a shell, it and what it started, shells before their children.

    A shell that dies first does not go on with its next line when the training has ended. The second list: shells in
    a container, which are to be held until then.
    """
    children = processes.find_children(alive)
    found = [alive[first]] if first in alive else []
    inside, passed = set(), set()  # type: Set[int], Set[int]
    for process in found:
        if process.name not in SHELLS and process.name not in CONTAINERS:
            continue
        below = [one for one in children.get(process.pid, []) if one.name not in MOUNTERS]
        found.extend(below)
        if below and (process.name in CONTAINERS or process.pid in inside):
            passed.add(process.pid)
            inside.update(one.pid for one in below)
    held = [process for process in found if process.pid in passed and process.name in SHELLS]
    return leave_out_readers([process for process in found if process.pid not in passed], found), held


def leave_out_readers(candidates: List[Process], writers: List[Process]) -> List[Process]:
    """Without the `tee` of `train | tee log`: it ends when the training has, and not before."""
    return [
        process
        for process in candidates
        if not any(_reads_from(process, writer) for writer in writers if writer.pid != process.pid)
    ]


def _reads_from(reader: Process, writer: Process) -> bool:
    if reader.name not in FILTERS:
        return False  # such as the training itself, in `zcat data | train`
    return bool(processes.load_pipes(reader.pid, {0}) & processes.load_pipes(writer.pid, {1, 2}))


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has just ended
