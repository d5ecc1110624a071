"""The nodes of a step meet before the training starts, so that one that cannot reach the first is named in seconds.

The frameworks' own words come after minutes, from every rank at once, and name the address instead of the node.
"""

import select
import socket
import time
from typing import Callable, List, Mapping, NamedTuple, Optional, Set

from windlass_job import wire
from windlass_job.bounded import describe, say
from windlass_job.starting.ports import MEETING_PLACE
from windlass_job.starting.steps import Step, read_step

Patience = NamedTuple(
    "Patience",
    [
        ("silent_s", float),  # until the log is told who has not come
        ("unreachable_s", float),  # a name that nobody knows, a way that is not there: waiting does not mend it
        ("late_s", float),  # a node that does not come at all; prologs run on each and may take their time
    ],
)
PATIENCE = Patience(silent_s=20.0, unreachable_s=30.0, late_s=300.0)
_TICK_S = 0.2
_CONNECT_S = 5.0
_GO = b"go\n"
_LONGEST_GREETING = 256


def meet(env: Mapping[str, str], is_over: Callable[[], bool], patience: Patience = PATIENCE) -> Optional[str]:
    """What went wrong, in words; None when all nodes are there, or nobody need wait. `is_over`: told to stop."""
    block = env.get(wire.ENV_PORTS, "")
    step = read_step(env)
    if (
        env.get(wire.ENV_NETWORK_TESTED)
        or len(step.counts) < 2
        or len(step.hosts) < len(step.counts)
        or step.local_rank != 0
        or not block.isdigit()
    ):
        return None
    greeting = "windlass {}.{} ".format(env.get("SLURM_JOB_ID", ""), env.get("SLURM_STEP_ID", ""))
    meeting = _Meeting(step, int(block) + MEETING_PLACE, greeting, is_over, patience)
    return meeting.keep() if step.node == 0 else meeting.visit()


class _Meeting:
    def __init__(self, step: Step, port: int, greeting: str, is_over: Callable[[], bool], patience: Patience) -> None:
        self._step = step
        self._port = port
        self._greeting = greeting.encode("utf-8")
        self._is_over = is_over
        self._patience = patience
        self._begin = time.monotonic()

    def _waited_s(self) -> float:
        return time.monotonic() - self._begin

    def keep(self) -> Optional[str]:
        """The first node waits for one task of every other, and lets them go together."""
        try:
            door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind(("", self._port))
            door.listen(1024)
        except OSError as error:
            say("the nodes do not meet before the start: port {}: {}".format(self._port, describe(error)))
            return None
        with door:
            return self._receive(door)

    def _receive(self, door: socket.socket) -> Optional[str]:
        guests: List[socket.socket] = []
        came: Set[int] = set()
        while len(came) < len(self._step.counts) - 1 and not self._is_over():
            if self._waited_s() > self._patience.late_s:
                return "{} did not come within {:g} s".format(self._tell_missing(came), self._patience.late_s)
            if self._waited_s() > self._patience.silent_s:
                say("waiting for {}".format(self._tell_missing(came)))
            if not select.select([door], [], [], _TICK_S)[0]:
                continue
            guest, _ = door.accept()
            node = self._read_node(guest)
            if node is not None:
                guests.append(guest)
                came.add(node)
        for guest in guests:
            _send(guest, _GO)
            guest.close()
        return None

    def _read_node(self, guest: socket.socket) -> Optional[int]:
        guest.settimeout(_CONNECT_S)
        try:
            text = guest.recv(_LONGEST_GREETING)
        except OSError:
            text = b""
        number = text[len(self._greeting) :].strip()
        if text.startswith(self._greeting) and number.isdigit():
            return int(number)
        guest.close()  # somebody else's
        return None

    def _tell_missing(self, came: Set[int]) -> str:
        missing = [self._step.hosts[node] for node in range(1, len(self._step.counts)) if node not in came]
        more = " and {} more nodes".format(len(missing) - 3) if len(missing) > 3 else ""
        return ", ".join(missing[:3]) + more

    def visit(self) -> Optional[str]:
        unreachable_since = None  # type: Optional[float]
        while not self._is_over() and self._waited_s() < self._patience.late_s:
            try:
                if self._ask_to_go():
                    return None
                unreachable_since = None
            except (ConnectionError, ValueError):
                unreachable_since = None  # the node is there, and its task is not yet
            except OSError as error:
                unreachable_since = unreachable_since or time.monotonic()
                if time.monotonic() - unreachable_since >= self._patience.unreachable_s:
                    return self._tell_unreachable(error)
            time.sleep(_TICK_S)
        return None  # its own words then say more than we know

    def _ask_to_go(self) -> bool:
        with socket.create_connection((self._step.hosts[0], self._port), timeout=_CONNECT_S) as way:
            way.sendall(self._greeting + str(self._step.node).encode("ascii") + b"\n")
            way.settimeout(_TICK_S)
            while not self._is_over() and self._waited_s() < self._patience.late_s:
                try:
                    return way.recv(len(_GO)) == _GO
                except socket.timeout:
                    continue
        return False

    def _tell_unreachable(self, error: OSError) -> str:
        here = self._step.hosts[self._step.node]
        return "{} cannot reach {}, where all nodes meet: {}".format(here, self._step.hosts[0], describe(error))


def _send(guest: socket.socket, text: bytes) -> None:
    try:
        guest.sendall(text)
    except OSError:
        pass  # it left; its own end says why
