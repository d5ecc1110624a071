"""The tasks of one srun: started, listened to, signalled, and waited for."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from windlass.pocket import processes
from windlass.pocket.hostlist import fold_numbers
from windlass.pocket.signals import describe

FORWARDED = (
    signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGALRM, signal.SIGTERM,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """Everything a task needs; None for a stream means srun's own."""

    number: int
    node: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    input: BinaryIO | None = None
    output: BinaryIO | None = None
    error: BinaryIO | None = None
    prepare: Callable[[], None] = processes.die_with_parent


class Crew:
    """The running tasks of a step."""

    def __init__(self, program: str, step_name: str, *, labels: bool, kill_wait_s: float) -> None:
        self._program, self._step_name = program, step_name
        self._labels, self._kill_wait_s = labels, kill_wait_s
        self._tasks: dict[int, subprocess.Popen[bytes]] = {}
        self._nodes: dict[int, str] = {}
        self._selector = selectors.DefaultSelector()
        self._rests: dict[int, bytes] = {}
        self._width = 1
        self._kill_at: float | None = None
        self._interrupted_at = 0.0
        self.codes: dict[int, int] = {}

    def start(self, plans: Sequence[TaskPlan]) -> None:
        self._width = len(str(len(plans) - 1))
        for plan in plans:
            self._start_one(plan)

    def forward(self, number: int) -> None:
        """A signal for srun is a signal for the tasks."""
        if number == signal.SIGTERM and self._kill_at is None:
            self._kill_at = time.monotonic() + self._kill_wait_s
            self._say(f"Job step aborted: Waiting up to {int(self._kill_wait_s) + 2} seconds for job step to finish.")
        processes.send([task.pid for task in self._tasks.values() if task.poll() is None], number)

    def interrupt(self) -> None:
        """The first Ctrl-C tells how things stand, a second one within a second ends them."""
        now = time.monotonic()
        running = [number for number, task in self._tasks.items() if task.poll() is None]
        if now - self._interrupted_at > 1:
            self._say("interrupt (one more within 1 sec to abort)")
            self._say(f"{self._step_name} {_tasks_word(running)}: running")
        else:
            self._say(f"sending Ctrl-C to {self._step_name}")
            self.forward(signal.SIGINT)
        self._interrupted_at = now

    def wait(self, *, kills_on_bad_exit: bool) -> None:
        """Until all tasks have ended and all they wrote was passed on."""
        while len(self.codes) < len(self._tasks) or self._selector.get_map():
            self._listen(0.05)
            ended = self._collect()
            if kills_on_bad_exit and any(self.codes[number] for number in ended) and self._kill_at is None:
                self._kill_at = time.monotonic() + self._kill_wait_s
                self._say(f"launch/slurm: _step_signal: Terminating {self._step_name}")
                processes.send(self._alive(), signal.SIGTERM)
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                processes.send(self._alive(), signal.SIGKILL)
            if len(self.codes) == len(self._tasks):
                self._drain()
                return

    def _start_one(self, plan: TaskPlan) -> None:
        output: BinaryIO | int | None = plan.output
        error: BinaryIO | int | None = plan.error
        if self._labels:
            output = subprocess.PIPE if output is None else output
            error = subprocess.PIPE if error is None else error
        self._nodes[plan.number] = plan.node
        task = subprocess.Popen(
            plan.words,
            stdin=plan.input,
            stdout=output,
            stderr=error,
            env=dict(plan.environment),
            cwd=plan.folder,
            preexec_fn=plan.prepare,
            # Ctrl-C is srun's business, not the tasks'; but only the group in front may read a terminal.
            process_group=None if sys.stdin.isatty() else 0,
        )
        self._tasks[plan.number] = task
        for stream, target in ((task.stdout, sys.stdout.buffer), (task.stderr, sys.stderr.buffer)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, (plan.number, target))

    def _alive(self) -> list[int]:
        return [task.pid for task in self._tasks.values() if task.poll() is None]

    def _listen(self, wait_s: float) -> None:
        if not self._selector.get_map():
            time.sleep(wait_s / 5)
            return
        for key, _ in self._selector.select(wait_s):
            number, target = key.data
            data = os.read(key.fd, 65536)
            if data:
                self._pass_on(key.fd, data, number, target)
            else:
                self._close(key.fd, number, target)

    def _pass_on(self, fd: int, data: bytes, number: int, target: BinaryIO) -> None:
        *lines, rest = (self._rests.pop(fd, b"") + data).split(b"\n")
        self._rests[fd] = rest
        label = f"{number:>{self._width}}: ".encode()
        target.write(b"".join(label + line + b"\n" for line in lines))
        target.flush()

    def _close(self, fd: int, number: int, target: BinaryIO) -> None:
        if rest := self._rests.pop(fd, b""):
            target.write(f"{number:>{self._width}}: ".encode() + rest + b"\n")
            target.flush()
        self._selector.unregister(fd)

    def _drain(self) -> None:
        """What ended tasks wrote last. A child that keeps the pipe open is not waited for."""
        deadline = time.monotonic() + 1
        while self._selector.get_map() and time.monotonic() < deadline:
            self._listen(0.05)

    def _collect(self) -> list[int]:
        ended = [n for n, task in self._tasks.items() if n not in self.codes and task.poll() is not None]
        groups: dict[tuple[str, int], list[int]] = {}
        for number in ended:
            code = self._tasks[number].returncode
            self.codes[number] = code
            if code:
                groups.setdefault((self._nodes[number], code), []).append(number)
        for (node, code), numbers in groups.items():
            how = f"Exited with exit code {code}" if code > 0 else describe(-code)
            self._say(f"error: {node}: {_tasks_word(numbers)}: {how}")
        return ended

    def _say(self, text: str) -> None:
        with contextlib.suppress(OSError):
            print(f"{self._program}: {text}", file=sys.stderr, flush=True)


def highest_code(codes: Sequence[int]) -> int:
    """What srun itself returns: the highest exit code, a signal counting as 128 and its number."""
    return max((code if code >= 0 else 128 - code for code in codes), default=0)


def _tasks_word(numbers: list[int]) -> str:
    return f"task{'s' if len(numbers) > 1 else ''} {fold_numbers(numbers)}"
