"""The keeper: one on every node of a job, from before the command starts until after it has ended.

It reads orders as lines of JSON on its standard input, which srun hands to all nodes alike, and answers with short
lines on its standard output. When the input ends, so does the job: it cleans up and leaves.
"""

import argparse
import json
import os
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from windlass_job import slurm
from windlass_job.bounded import describe, say
from windlass_job.staging import places
from windlass_job.starting.greeting import make_listener
from windlass_job.starting.interfaces import find_address

if TYPE_CHECKING:  # a zip is compiled at every start: only what is needed at once
    from windlass_job.staging.bringing import Bringer
    from windlass_job.staging.laying import Laid

LONGEST_LINE = 900  # srun cuts longer ones, and mixes the pieces of several nodes
LONGEST_TEXT = 300  # of a sentence, in characters
_LAST_S = 20.0  # to bring results back when nobody is there who says how long
_ALIVE_S = 5.0  # between two signs of life
_LEAVE_S = 3.0  # for what is being copied to be let go
_FIRST_S = 1.0  # for the command to start and read its first batch, before copying takes the disk and the network
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PORT = 12  # of the job's own: launchers take them from the other end, the network test had the last ones


def add_options(parser: argparse.ArgumentParser) -> None:
    """Nothing: the orders come on the standard input."""


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    # Slurm tells every step of the job that it ends, and what the node holds is needed until the command has ended.
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    try:
        os.nice(5)  # the training first
    except OSError:
        pass
    keeper = Keeper(env)
    for line in iter(sys.stdin.readline, ""):
        if not keeper.obey(json.loads(line)):
            return 0
    keeper.end(_LAST_S, is_brought=True)
    return 0


def make_line(values: "Dict[str, Any]") -> "Optional[bytes]":
    """One that srun passes on whole: its text is cut where it is too long, None where that does not help."""
    line = json.dumps(values).encode("ascii") + b"\n"
    text = values.get("text")
    while len(line) > LONGEST_LINE and text:
        text = text[: len(text) * 9 // 10]  # a character takes up to twelve bytes
        line = json.dumps(dict(values, text=text + "…")).encode("ascii") + b"\n"
    return line if len(line) <= LONGEST_LINE else None


class Keeper:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._node = slurm.read_number(env, "SLURM_NODEID", 0)
        self._name = slurm.load_node(env)
        self._plan: Dict[str, Any] = {}
        self._listener: Optional[socket.socket] = None
        self._places: List[places.Place] = []
        self._laid: "Optional[Laid]" = None
        self._bringer: "Optional[Bringer]" = None
        self._stager: Optional[threading.Thread] = None
        self._lock = threading.Lock()  # one at a time brings results
        self._is_waited_for = threading.Event()  # by the agent, which gives up a node that is silent

    def obey(self, order: Dict[str, Any]) -> bool:
        """False when it was the last."""
        what = order.get("do")
        if what == "prepare":
            self._prepare(order)
        elif what == "stage":
            self._stager = threading.Thread(target=self._stage, args=(order,), daemon=True)
            self._stager.start()
        elif what == "bring":
            threading.Thread(target=self._bring, args=(float(order["limit_s"]), False), daemon=True).start()
        elif what == "end":
            self.end(float(order["limit_s"]), is_brought=bool(order["is_brought"]))
            return False
        return True

    def tell(self, **values: Any) -> None:
        line = make_line(dict(values, node=self._node))
        if line is None:
            if values.get("at") == "problem":  # nobody would know that the data is not there
                self.tell(at="failed")
            say("a report of this node was too long to be told: {}".format(values.get("at")))
            return
        try:
            os.write(1, line)
        except OSError:
            pass  # nobody listens any more

    def note(self, text: str) -> None:
        self.tell(at="note", text="{}: {}".format(self._name, text)[:LONGEST_TEXT])

    def _prepare(self, order: Dict[str, Any]) -> None:
        self._plan = order
        threading.Thread(target=self._give_signs_of_life, daemon=True).start()
        self._node = self._node if order["nodes"] > 1 else 0
        found = [places.look_at(root) for root in places.list_roots(order["scratch"], self._env, order["is_pretended"])]
        roots = [one for one in found if one is not None][:3]
        self.tell(
            at="prepared",
            name=self._name,
            roots=roots,
            shm=places.look_at(places.MEMORY),
            memory_left=places.load_memory_left(self._env),
            port=self._listen(order) if order["nodes"] > 1 else 0,
            address=find_address(order["interface"]) if order.get("interface") else None,
        )

    def _give_signs_of_life(self) -> None:
        while self._is_waited_for.wait():
            self.tell(at="alive", steps=self._laid.count_steps() if self._laid is not None else 0)
            time.sleep(_ALIVE_S)

    def _listen(self, order: Dict[str, Any]) -> int:
        for port in ([order["block"] + _PORT] if order.get("block") else []) + [0]:
            try:
                self._listener = make_listener("", port)
                return int(self._listener.getsockname()[1])
            except OSError:
                continue
        return 0

    def _stage(self, order: Dict[str, Any]) -> None:
        self._is_waited_for.set()
        try:
            from windlass_job.staging.laying import lay

            folders = {kind: self._take(root) for kind, root in order["roots"].items()}
            if order.get("work"):
                self._open_work(os.path.join(folders["node"], b"work"), order["work"], order["bring"])
            leftovers = self._find_leftovers(order)
            self._laid = lay(order, folders, leftovers, self)
            is_awaited = self._laid.keeps_waiting()
            if not is_awaited:
                self.tell(at="laid")
                time.sleep(_FIRST_S)
            self._laid.start(self._node, order["peers"], bytes.fromhex(self._plan["word"]), self._listener)
            if is_awaited:
                self._laid.wait_for_awaited()
                self._tell_problems()
                self.tell(at="laid", environment_files=self._laid.environment_files)
            self._is_waited_for.clear()
            self._laid.wait()
            if self._laid.is_stopped():
                return
            self.tell(at="local", **self._laid.count())
            self._laid.remove_used_up()
            for folder in leftovers:
                places.remove_folder(folder)
        except Exception as error:  # the command is served from the shared file system
            self.note("the data could not be staged: {}".format(describe(error)))
            self.tell(at="failed")

    def _open_work(self, folder: bytes, target: str, patterns: List[str]) -> None:
        """The folder that is the command's own; what matches comes back into `target`."""
        os.makedirs(folder, 0o700, exist_ok=True)
        if patterns:
            from windlass_job.staging.bringing import Bringer

            apart = "" if self._node == 0 else "from-" + self._name
            self._bringer = Bringer(folder, os.path.join(os.fsencode(target), os.fsencode(apart)), patterns)

    def _take(self, root: str) -> bytes:
        about = {"job": self._env.get("SLURM_JOB_ID"), "run": self._plan["run"], "pid": os.getpid()}
        place = places.Place(root, self._plan["tag"], about)
        self._places.append(place)
        return place.folder

    def _find_leftovers(self, order: Dict[str, Any]) -> List[bytes]:
        """Of dead jobs: those of this run, which may be of use; others are removed at once."""
        useful: List[bytes] = []
        for root in set(order["roots"].values()):
            for folder, about in places.find_leftovers(root, self._plan["tag"]).items():
                if about.get("run") == self._plan["run"]:
                    useful.append(folder)
                else:
                    threading.Thread(target=places.remove_folder, args=(folder,), daemon=True).start()
        return useful

    def _tell_problems(self) -> None:
        assert self._laid is not None
        for name, problem in self._laid.problems.items():
            self.tell(at="problem", name=name, text=problem[:LONGEST_TEXT])

    def _bring(self, limit_s: float, is_last: bool) -> None:
        if self._bringer is None:
            return
        with self._lock:
            brought = self._bringer.bring(time.monotonic() + limit_s, is_last)
        for problem in brought.problems:
            self.note("not brought back: {}".format(problem))
        self.tell(at="brought", files=brought.files, bytes=brought.bytes, failed=brought.failed, is_last=is_last)

    def end(self, limit_s: float, *, is_brought: bool) -> None:
        """The command has ended: results first, then nothing of the job is left here."""
        self._is_waited_for.set()
        if self._laid is not None:
            self._laid.stop()
        if is_brought:
            self._bring(limit_s, is_last=True)
        if self._stager is not None:
            self._stager.join(_LEAVE_S)
        for place in self._places:
            place.remove()
        self.tell(at="gone")
