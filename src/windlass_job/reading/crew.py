"""The workers of a loader: threads of this process, or processes of their own, behind two pipes."""

import os
import pickle
import select
import subprocess
import sys
import threading

from windlass_job.reading.worker import ANSWER, TASK, Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Tuple

    from windlass_job.reading.slots import Slots
    from windlass_job.reading.worker import Kitchen

LOOK_S = 2.0
_PROGRAM = "from windlass_job.reading.worker import main; main()"


class WorkerDied(RuntimeError):
    """A process that makes batches was killed; mostly for want of memory."""


class Crew:
    def __init__(self, kitchen: "Kitchen", slots: "Slots", workers: int, processes: bool) -> None:
        self._tasks_out, self._tasks = os.pipe()
        self._answers, self._answers_in = os.pipe()
        self._processes: "List[subprocess.Popen[bytes]]" = []
        self._threads: "List[threading.Thread]" = []
        self._pid = os.getpid()
        self._poll = select.poll()  # unlike select it takes handles beyond 1,023, which trainings do have
        self._poll.register(self._answers, select.POLLIN)
        try:
            if processes:
                self._start_processes(pickle.dumps(kitchen), slots, workers)
            else:
                self._start_threads(kitchen, slots, workers)
        except BaseException:  # Ctrl-C too: no worker is left behind
            self.close()
            raise

    def send(self, *task: int) -> None:
        os.write(self._tasks, TASK.pack(*task))

    def collect(self, wait_s: float) -> "List[Tuple[int, ...]]":
        """Answers that have come, or come in this time. WorkerDied when none will."""
        if not self._poll.poll(1000 * wait_s):
            if wait_s:
                self._look()
            return []
        found = os.read(self._answers, 64 * ANSWER.size)
        return list(ANSWER.iter_unpack(found))

    def close(self) -> None:
        """Workers end by themselves when there are no more tasks to come."""
        if self._tasks < 0 or self._pid != os.getpid():
            return
        os.close(self._tasks)
        self._tasks = -1
        while os.read(self._tasks_out, 1 << 16):  # what nobody has begun with
            pass
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            _end(process)
        for handle in (self._tasks_out, self._answers, self._answers_in):
            os.close(handle)

    def _look(self) -> None:
        for process in self._processes:
            code = process.poll()
            if code is not None:
                reason = "signal {}: was there too little memory?".format(-code) if code < 0 else "code {}".format(code)
                raise WorkerDied("a process that makes batches has ended ({})".format(reason))

    def _start_threads(self, kitchen: "Kitchen", slots: "Slots", workers: int) -> None:
        for _ in range(workers):
            worker = Worker(kitchen, slots)
            thread = threading.Thread(
                target=worker.serve, args=(self._tasks_out, self._answers_in), name="windlass-data", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def _start_processes(self, kitchen: bytes, slots: "Slots", workers: int) -> None:
        handles = (self._tasks_out, self._answers_in, slots.handle)
        words = [str(one) for one in handles + (slots.count, slots.batch)]
        # The same modules as here; one thread each, because there are as many of them as CPUs.
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)), OMP_NUM_THREADS="1")
        for _ in range(workers):
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM] + words, stdin=subprocess.PIPE, pass_fds=handles, env=env
            )
            self._processes.append(process)
        for process in self._processes:
            _hand_over(process, kitchen)


def _hand_over(process: "subprocess.Popen[bytes]", kitchen: bytes) -> None:
    stdin: "Any" = process.stdin
    try:
        stdin.write(kitchen)
        stdin.close()
    except BrokenPipeError:
        raise WorkerDied("a process that makes batches did not start: code {}".format(process.wait()))


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(LOOK_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
