"""The keepers of a job as the agent sees them: one process here, or one task on every node by srun.

Orders go to all of them over srun's standard input, and their answers come back over its output: no port and no file of
the run folder is needed for it, and when the agent dies they know.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from windlass_job import wire
from windlass_job.bounded import say
from windlass_job.starting.hostlist import read_hosts

_TOO_OLD = "unrecognized option"
_NOT_OURS = ("SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU")  # srun takes only one word about memory
_MOST_WORDS = 5
_SILENT_S = 60.0  # a node that the agent waits for, without a sign of life
_STALLED_S = 900.0  # signs of life, and nothing has come further


class Crew:
    """Never raises once it is made. `hear` gets every answer, in a thread of its own."""

    def __init__(self, argv: List[str], env: Mapping[str, str]) -> None:
        """May raise OSError."""
        self._process = subprocess.Popen(
            argv,
            env={name: value for name, value in env.items() if name not in _NOT_OURS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.hear: Callable[[Dict[str, Any]], None] = lambda answer: None
        self.words: List[str] = []  # what was said besides answers, the last lines of it
        self.has_ended = threading.Event()
        self._orders: "queue.Queue[Optional[bytes]]" = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()  # a keeper that hangs must not hang the agent

    def order(self, **values: Any) -> None:
        self._orders.put(json.dumps(values).encode("ascii") + b"\n")

    def close(self) -> None:
        """No more orders: who has heard none of them leaves too."""
        self._orders.put(None)

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()  # srun then ends its tasks
            if not self.has_ended.wait(1.0):
                self._process.kill()

    @property
    def is_too_new(self) -> bool:
        """This srun does not know one of our options."""
        return any(_TOO_OLD in line for line in self.words)

    def _write(self) -> None:
        assert self._process.stdin is not None
        try:
            for order in iter(self._orders.get, None):
                self._process.stdin.write(order)
                self._process.stdin.flush()
            self._process.stdin.close()
        except (OSError, ValueError):
            pass  # it has ended, which is heard elsewhere

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in iter(self._process.stdout.readline, b""):
            self._take(line.decode("utf-8", "replace").strip())
        self._process.wait()
        self.has_ended.set()

    def _take(self, line: str) -> None:
        try:
            answer = json.loads(line) if line.startswith("{") else None
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            self.hear(answer)
        elif line.startswith("windlass: "):
            say(line[len("windlass: ") :])
        elif line:
            self.words = self.words[1 - _MOST_WORDS :] + [line[:300]]


def list_hosts(env: Mapping[str, str]) -> List[str]:
    """That need a keeper each. Pretended nodes are one machine, and share its disks and memory."""
    hosts = read_hosts(env.get("SLURM_JOB_NODELIST") or env.get("SLURM_NODELIST") or "") or ["localhost"]
    return hosts[:1] if env.get(wire.ENV_POCKET_JOB) else hosts


def start(env: Mapping[str, str], words: Sequence[str] = (wire.STAGE_NODE,), *, is_overlap_known: bool = True) -> Crew:
    """words: the command of the job's zip that each of them runs. May raise OSError."""
    member = [sys.executable, "-I", os.path.join(env[wire.ENV_RUN_DIR], wire.JOB_ZIP), *words]
    return Crew(make_argv(member, len(list_hosts(env)), is_overlap_known=is_overlap_known), env)


def make_argv(member: Sequence[str], nodes: int, *, is_overlap_known: bool = True) -> List[str]:
    """One here, or one on each of several nodes beside whatever else runs there."""
    if nodes == 1:
        return list(member)
    return [
        "srun",
        "--nodes={}".format(nodes),
        "--ntasks={}".format(nodes),
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=0",
        "--wait=0",
        "--mem=0",  # it takes nothing away from the command's own steps
        "--mpi=none",
        "--input=all",
        *(["--overlap"] if is_overlap_known else []),
        *member,
    ]


class Answers:
    """What the keepers have answered, by word and node."""

    def __init__(self, nodes: int) -> None:
        self.news = threading.Condition()
        self._nodes = nodes
        self._found: Dict[str, Dict[int, Dict[str, Any]]] = {}
        self._heard: Dict[int, float] = {}  # when each node gave its last sign of life
        self._moved: Dict[int, float] = {}  # and when it last had come further

    def add(self, answer: Dict[str, Any]) -> None:
        word, node, now = str(answer.get("at")), int(answer.get("node") or 0), time.monotonic()
        with self.news:
            before = self._found.setdefault(word, {}).get(node)
            self._found[word][node] = answer
            self._heard[node] = now
            if answer != before:
                self._moved[node] = now
            self.news.notify_all()

    def have_all(self, word: str) -> bool:
        return len(self.get(word)) == self._nodes

    def watch(self) -> None:
        """From now on silence counts."""
        with self.news:
            self._heard = dict.fromkeys(range(self._nodes), time.monotonic())
            self._moved = dict(self._heard)

    def is_one_lost(self, word: str) -> bool:
        """Of the nodes that have not said this word yet, one does nothing any more. Call `watch` before."""
        now = time.monotonic()
        with self.news:
            waited_for = [node for node in range(self._nodes) if node not in self._found.get(word, {})]
            return any(now > self._heard[one] + _SILENT_S or now > self._moved[one] + _STALLED_S for one in waited_for)

    def get(self, word: str) -> List[Dict[str, Any]]:
        """In the order of the nodes."""
        with self.news:
            return [answer for _, answer in sorted(self._found.get(word, {}).items())]

    def forget(self, word: str) -> None:
        with self.news:
            self._found.pop(word, None)

    def wait(self, claim: Callable[[], bool], is_given_up: Callable[[], bool], limit_s: Optional[float]) -> bool:
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while not claim():
            if is_given_up() or (deadline is not None and time.monotonic() > deadline):
                return claim()
            with self.news:
                self.news.wait(0.02)
        return True
