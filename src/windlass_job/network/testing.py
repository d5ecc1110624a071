"""One node's part in the network test: it calls the others, sends them data, sums with them, and tells what it saw.

The ways are those of the training: hosts by the same names, the first node on its rendezvous port, data to the address
of the interface that NCCL and Gloo are told to use. Every node writes a report into the run folder, which is how a
node can be named that nobody reaches. Ten seconds from the start; longer only for a task that Slurm starts late.
"""

import argparse
import os
import signal
import socket
import struct
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Set

from windlass_job import disk
from windlass_job.bounded import describe, say
from windlass_job.network import talking
from windlass_job.network.judgement import list_peers
from windlass_job.network.talking import Stuck
from windlass_job.starting import greeting
from windlass_job.starting.greeting import TalkError
from windlass_job.starting.interfaces import find_address

TEST_S = 10.0
LATE_S = 20.0  # a host that answers "refused" is there, and its task may still come
LONGEST_S = 28  # nobody stays longer: Slurm must not find us here when the training starts
ONE_TRY_S = 3.0
PAUSE_S = 0.05
PLAN = "test.json"
SPARE_PORTS = (15, 14, 13)  # of the job's block, the last first: the training takes them from the other end


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", help="network/JOB.ATTEMPT of the run folder")


def run(options: argparse.Namespace, env: Mapping[str, str]) -> int:
    signal.alarm(LONGEST_S)
    signal.signal(signal.SIGTERM, _stop)
    folder = os.fsencode(options.folder)
    try:
        plan = disk.read_json(os.path.join(folder, os.fsencode(PLAN))) or {}
        node = Node(plan, _find_index(plan["hosts"], env))
        report = os.path.join(folder, os.fsencode(node.name) + b".json")
        disk.replace(report, disk.make_json({"node": node.name, "ended": False}))
        disk.replace(report, disk.make_json(node.take_part()))
    except (OSError, KeyError, ValueError) as error:
        say("no part in the network test: {!r}".format(error))
        return 1
    return 0


class _Stopped(Exception):
    """Slurm ends the step, mostly because another task could not be started."""


def _stop(number: int, frame: Any) -> None:
    raise _Stopped()


def _find_index(hosts: List[str], env: Mapping[str, str]) -> int:
    name = env.get("SLURMD_NODENAME", "")
    return hosts.index(name) if name in hosts else int(env.get("SLURM_NODEID", "0"))


class Node:
    """This node among all. Threads call and answer; `_lock` guards what they found."""

    def __init__(self, plan: Dict[str, Any], index: int) -> None:
        self._hosts: List[str] = plan["hosts"]
        self._suffix: str = plan["suffix"]
        self._rendezvous: int = plan["rendezvous"]
        self._spare: List[int] = [plan["block"] + port for port in SPARE_PORTS]
        self._word = bytes.fromhex(plan["word"])
        self._interface: Optional[str] = plan.get("interface")
        self._addresses: Optional[List[str]] = plan.get("addresses")  # of pretended nodes
        self._index = index
        self.name = self._hosts[index]
        count = len(self._hosts)
        self._next = self._hosts[(index + 1) % count]
        self._peers = list_peers(index, count)
        self._callers = {self._hosts[at] for at in range(count) if at != index and index in list_peers(at, count)}
        self._began = time.monotonic()
        self._until = self._began + TEST_S
        self._lock = threading.Condition()
        self._reached: Dict[str, Dict[str, Any]] = {}
        self._failed: Dict[str, Dict[str, Any]] = {}
        self._heard: Set[str] = set()
        self._problems: List[str] = []
        self._data_address: Optional[str] = None
        self._left: Optional[socket.socket] = None
        self._right: Optional[socket.socket] = None

    def take_part(self) -> Dict[str, Any]:
        """The report."""
        listeners: List[socket.socket] = []
        outcome: Dict[str, Any] = {"sum": None}
        try:
            listeners = self._listen()
            for peer in self._peers:
                threading.Thread(target=self._call, args=(peer,), daemon=True).start()
            self._wait_for(lambda: len(self._reached) + len(self._failed) == len(self._peers), LATE_S + ONE_TRY_S)
            self._wait_for(lambda: self._left is not None or bool(self._failed))
            outcome = self._sum()
            self._wait_for(lambda: self._callers <= self._heard)
        except _Stopped:
            self._problems.append("stopped by Slurm before the end of the test")
        for listener in listeners:
            listener.close()
        return self._make_report(outcome)

    def _wait_for(self, claim: Callable[[], bool], longest_s: float = 0.0) -> None:
        """Until it is true, at most until the test's time is up, or `longest_s` from the start."""
        with self._lock:
            while not claim():
                left = max(self._until, self._began + longest_s) - time.monotonic()
                if left <= 0:
                    return
                self._lock.wait(min(left, 1.0))

    def _make_report(self, outcome: Dict[str, Any]) -> Dict[str, Any]:
        silence = {"error": "no answer within {:g} s".format(TEST_S), "kind": "time"}
        with self._lock:
            names = [self._hosts[peer] for peer in self._peers]
            missing = {name: silence for name in names if name not in self._reached and name not in self._failed}
            return dict(
                outcome,
                node=self.name,
                ended=True,
                address=self._data_address,
                reached=dict(self._reached),
                failed=dict(self._failed, **missing),
                heard=sorted(self._heard),
                problems=list(self._problems),
                clock_s=-self._reached[self._hosts[0]]["ahead_s"] if self._hosts[0] in self._reached else None,
                took_s=round(time.monotonic() - self._began, 3),
            )

    def _sum(self) -> Dict[str, Any]:
        """Only where both neighbours are there; the connection that is closed tells the others to give up too."""
        with self._lock:
            left, right = self._left, self._right
        began = time.monotonic()
        try:
            if left is None or right is None or self._failed:
                return {"sum": "a neighbour is missing"}
            for talk in (left, right):
                talk.settimeout(max(1.0, self._until - began))
            is_right = talking.all_reduce(left, right, self._index, len(self._hosts), self._word)
        except (OSError, TalkError) as error:
            return {"sum": describe(error)}
        finally:
            for talk in filter(None, (right, left)):
                talk.close()
        took_s = round(time.monotonic() - began, 4)
        return {"sum": "right" if is_right else "wrong", "sum_s": took_s, "sum_mb": talking.SUM_BYTES >> 20}

    # ---- those who call us ------------------------------------------------------------------------------------------

    def _listen(self) -> List[socket.socket]:
        """On the rendezvous port where this is the first node, and on one of the job's spare ports."""
        own = self._find_own_address()
        listeners = self._bind(own, [self._rendezvous]) if self._index == 0 else []
        listeners += self._bind(own, self._spare)
        for listener in listeners:
            threading.Thread(target=self._answer, args=(listener,), daemon=True).start()
        return listeners

    def _bind(self, address: str, ports: List[int]) -> List[socket.socket]:
        problem = ""
        for port in ports:
            try:
                return [greeting.make_listener(address, port)]
            except OSError as error:
                problem = "port {} cannot be used here: {}".format(port, describe(error).lower())
        self._problems.append(problem)
        return []

    def _find_own_address(self) -> str:
        """To listen on: all there are. Nodes that are all one machine share its ports, but have an address each."""
        if self._addresses:
            return self._addresses[self._index]
        if self._interface:
            self._data_address = find_address(self._interface)
            if self._data_address is None:
                self._problems.append("there is no network interface {} with an address".format(self._interface))
        return ""

    def _answer(self, listener: socket.socket) -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return  # closed: the test is over
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        try:
            caller.settimeout(ONE_TRY_S)
            # When it is closed nothing of it may linger: the training needs the port.
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hello = greeting.welcome(caller, self._word, self.name, self._data_address)
            caller.settimeout(TEST_S)
            is_data = hello["use"] == "data"
            if is_data:
                talking.receive_bursts(caller)
            else:
                caller.recv(1)  # the caller hangs up, and so has our answer
            with self._lock:
                self._heard.add(hello["name"])
                self._left = caller if is_data else self._left
                self._lock.notify_all()
            if is_data:
                return
        except (OSError, TalkError):
            pass  # the caller knows what went wrong, and tells
        caller.close()

    # ---- those whom we call -----------------------------------------------------------------------------------------

    def _call(self, peer: int) -> None:
        name = self._hosts[peer]
        ports = self._spare if peer else [self._rendezvous] + self._spare
        error = self._try_all(name, ports)
        while error is not None and self._is_worth_waiting(error):
            time.sleep(PAUSE_S)
            error = self._try_all(name, ports)
        with self._lock:
            if error is not None:
                self._failed[name] = error
            elif time.monotonic() > self._began + 1.0:  # it came late, and has its ten seconds too
                latest = self._began + LONGEST_S - ONE_TRY_S
                self._until = max(self._until, min(time.monotonic() + TEST_S, latest))
            self._lock.notify_all()

    def _is_worth_waiting(self, error: Dict[str, Any]) -> bool:
        return time.monotonic() + PAUSE_S < self._began + (LATE_S if error["kind"] == "refused" else TEST_S)

    def _try_all(self, name: str, ports: List[int]) -> Optional[Dict[str, Any]]:
        """What went wrong, or None. Another port is tried only where the host itself has answered."""
        told: Optional[Dict[str, Any]] = None
        for port in ports:
            error = self._try(name, port)
            if error is None or error["kind"] not in ("refused", "stranger"):
                return error
            if told is None or told["kind"] == "refused":
                told = error
        return told

    def _try(self, name: str, port: int) -> Optional[Dict[str, Any]]:
        host = name + self._suffix
        try:
            address = self._addresses[self._hosts.index(name)] if self._addresses else _look_up(host)
        except OSError as error:
            return {"error": describe(error), "kind": "name", "host": host}
        where = "{}:{}".format(address, port)
        try:
            seen = self._talk(name, address, port)
        except ConnectionRefusedError:
            return {"error": "connection refused", "kind": "refused", "at": where}
        except socket.timeout:
            return {"error": "connection timed out", "kind": "time", "at": where}
        except TalkError as problem:
            return {"error": str(problem), "kind": "stranger", "at": where}
        except (OSError, Stuck) as error:
            return {"error": describe(error).lower(), "kind": "connection", "at": where}
        with self._lock:
            self._reached[name] = dict(seen, at=where)
        return None

    def _talk(self, name: str, address: str, port: int) -> Dict[str, Any]:
        """By the host's name; then, where data goes another way, by the address of its interface."""
        with self._connect(address, port) as calling:
            told = greeting.greet(calling, self._word, self.name, name, "greeting")
        data_address = told.pop("address") or address
        if name == self._next:
            self._right = self._connect(data_address, port)
            greeting.greet(self._right, self._word, self.name, name, "data")
            self._right.settimeout(max(1.0, self._until - time.monotonic()))
            told["mb_s"] = talking.send_bursts(self._right)
        elif data_address != address:
            with self._connect(data_address, port) as calling:
                greeting.greet(calling, self._word, self.name, name, "greeting")
        if data_address != address:
            told["data_at"] = data_address
        return told

    def _connect(self, address: str, port: int) -> socket.socket:
        left = self._began + TEST_S - time.monotonic()
        calling = socket.create_connection((address, port), timeout=max(0.5, min(ONE_TRY_S, left)))
        calling.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return calling


def _look_up(host: str) -> str:
    """As the training does: an address of IPv4 where there is one."""
    try:
        found = socket.getaddrinfo(host, None, 0, socket.SOCK_STREAM)
    except UnicodeError as error:  # such as two dots in a row
        raise socket.gaierror(socket.EAI_NONAME, "{} is no name for a host".format(host)) from error
    return str(min(found, key=lambda one: one[0] != socket.AF_INET)[4][0])
