"""Items passed on from node to node around a ring, so that each byte leaves the shared file system once for a job.

Every node reads its share of the items and sends all it has to its right, but for what the right one reads itself. It
sends from its own disk what it has written there, whole or not, so that nobody ever waits for somebody who waits for
him. Where a connection is missing or breaks, the node behind the break reads for itself, and those after it get it
from there.
"""

import os
import socket
import struct
import threading
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple, Union

from windlass_job.bounded import describe
from windlass_job.staging.checking import Damaged
from windlass_job.staging.copying import Copier
from windlass_job.staging.items import FAILED, HERE, WAITING, Arrival, Full, Stopped, Store
from windlass_job.staging.window import HANDING_ON
from windlass_job.starting.greeting import TalkError, greet, welcome

CONNECT_S = 10.0
SILENCE_S = 60.0  # nothing at all, not even a sign of life
ALIVE_S = 10.0
PIECE = 1 << 20
_HEAD = struct.Struct("<BIBI")  # what, item, part, bytes that follow
_DATA, _PART_ENDED, _FAILED, _ALIVE = 1, 2, 3, 4
_LONGEST_PROBLEM = 1000

Neighbours = NamedTuple(
    "Neighbours",
    [
        ("node", int),
        ("addresses", List[Tuple[str, int]]),  # of all nodes
        ("word", bytes),
    ],
)


def get_owner(item: int, nodes: int) -> int:
    """Which node reads it from the shared file system."""
    return item % nodes


class Ring:
    """This node's part. `bytes_received` came from the left."""

    def __init__(self, store: Store, copier: Copier, seats: Neighbours, note: Callable[[str], None]) -> None:
        self._store = store
        self._copier = copier
        self._seats = seats
        self._note = note
        self._count = len(seats.addresses)
        self._left: Optional[socket.socket] = None
        self._onward: List[Arrival] = []  # what the right one gets from us
        self._deaf: Set[int] = set()  # items that came damaged, and are read here
        self.bytes_received = 0
        self.has_sent = threading.Event()  # the right one has all it will get from us

    def start(self, listener: Optional[socket.socket]) -> None:
        self._onward = [one for one in self._store.arrivals.values() if not self._is_of(one, self._seats.node + 1)]
        for one in self._onward if self._count > 1 else []:
            if one.passes_through:
                one.pass_through(HANDING_ON)
        mine = [one for one in self._store.arrivals.values() if self._is_of(one, self._seats.node)]
        self._copier.add(mine)
        if self._count == 1:
            self.has_sent.set()
            return
        threading.Thread(target=self._receive, args=(listener,), daemon=True).start()
        threading.Thread(target=self._send, daemon=True).start()

    def _is_of(self, arrival: Arrival, node: int) -> bool:
        return get_owner(arrival.item.number, self._count) == node % self._count

    # ---- from the left ----------------------------------------------------------------------------------------------

    def _receive(self, listener: Optional[socket.socket]) -> None:
        why = "no connection came from the node before this one"
        try:
            self._left = self._accept(listener) if listener is not None else None
            if self._left is not None:
                self._left.settimeout(SILENCE_S)
                self._take_all(self._left)
                why = "the node before this one hung up"
        except Stopped:
            return
        except Full as problem:
            self._store.is_full = True
            why = "this node is full: {}".format(problem)
        except (OSError, TalkError, struct.error) as error:
            why = "the connection from the node before this one broke: {}".format(describe(error).lower())
        finally:
            _close(self._left)
            _close(listener)
        self._read_rest(why)

    def _accept(self, listener: socket.socket) -> Optional[socket.socket]:
        deadline = time.monotonic() + CONNECT_S
        left = str((self._seats.node - 1) % self._count)
        while time.monotonic() < deadline and not self._store.is_stopped:
            listener.settimeout(max(0.05, deadline - time.monotonic()))
            try:
                caller, _ = listener.accept()
            except socket.timeout:
                return None
            try:
                caller.settimeout(3.0)
                hello = welcome(caller, self._seats.word, str(self._seats.node), None)
                if hello["name"] == left:
                    return caller
            except (OSError, TalkError):
                pass  # a stranger, or one who left again
            caller.close()
        return None

    def _take_all(self, left: socket.socket) -> None:
        buffer = bytearray(PIECE)
        while True:
            head = _receive_exactly(left, memoryview(buffer)[: _HEAD.size], may_end=True)
            if not head:
                return
            what, number, _, size = _HEAD.unpack(head)
            if size > PIECE or (what != _ALIVE and number not in self._store.arrivals):
                raise TalkError("something that is no piece of data came")
            data = _receive_exactly(left, memoryview(buffer)[:size])
            if what != _ALIVE:
                self._take(self._store.arrivals[number], what, data)

    def _take(self, arrival: Arrival, what: int, data: memoryview) -> None:
        """What of an item is here already, or was given up, is passed over."""
        self.bytes_received += len(data) if what == _DATA else 0
        if arrival.state in (HERE, FAILED) or arrival.item.number in self._deaf:
            return
        try:
            if what == _DATA:
                arrival.write(data)
            elif what == _PART_ENDED:
                arrival.end_part()
            elif what == _FAILED:
                arrival.give_up(FAILED, bytes(data).decode("utf-8", "replace"))
        except Damaged as problem:
            self._note("{} on its way from another node: it is read again".format(problem))
            self._deaf.add(arrival.item.number)
            arrival.give_up(WAITING, "")
            self._copier.add([arrival])

    def _read_rest(self, why: str) -> None:
        """What would have come from the left."""
        with self._store.news:
            others = [one for one in self._store.arrivals.values() if not self._is_of(one, self._seats.node)]
            missing = [one for one in others if one.state not in (HERE, FAILED)]
        if not missing or self._store.is_stopped:
            return
        if self._store.is_full:
            self._store.fail_rest(why)
            return
        self._note("{}: it reads {} of {} files itself".format(why, len(missing), len(self._store.arrivals)))
        for one in missing:
            one.give_up(WAITING, "")
        self._copier.add(missing)

    # ---- to the right -----------------------------------------------------------------------------------------------

    def _send(self) -> None:
        right = None
        try:
            right = self._call()
            if right is not None:
                _Sender(self._store, right, list(self._onward)).run()
        except (OSError, Stopped, TalkError):
            pass  # the right one notices, and reads for itself
        finally:
            _close(right)
            for one in self._onward:
                one.leave(HANDING_ON)
            self.has_sent.set()

    def _call(self) -> Optional[socket.socket]:
        deadline = time.monotonic() + CONNECT_S
        peer = (self._seats.node + 1) % self._count
        problem = ""
        while time.monotonic() < deadline and not self._store.is_stopped:
            try:
                calling = socket.create_connection(self._seats.addresses[peer], timeout=3.0)
                calling.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                greet(calling, self._seats.word, str(self._seats.node), str(peer), "data")
                calling.settimeout(SILENCE_S)
                return calling
            except (OSError, TalkError) as error:
                problem = describe(error).lower()
            time.sleep(0.05)
        self._note("the next node cannot be reached at {}:{}: {}".format(*self._seats.addresses[peer], problem))
        return None


class _Sender:
    """Sends every item once, a piece at a time, of those that have something new."""

    def __init__(self, store: Store, right: socket.socket, arrivals: List[Arrival]) -> None:
        self._store = store
        self._right = right
        self._left_to_send = arrivals
        self._sent: Dict[int, Tuple[int, int]] = {one.item.number: (0, 0) for one in arrivals}  # part, bytes of it
        self._handles: Dict[int, Tuple[int, int]] = {}  # item -> handle, and which writing of it that is

    def run(self) -> None:
        while self._left_to_send:
            arrival = self._wait_for_news()
            if arrival is None:
                self._right.sendall(_HEAD.pack(_ALIVE, 0, 0, 0))
            else:
                self._send_some(arrival)

    def _wait_for_news(self) -> Optional[Arrival]:
        deadline = time.monotonic() + ALIVE_S
        with self._store.news:
            while True:
                if self._store.is_stopped or self._store.is_full:
                    raise Stopped()
                ready = [one for one in self._left_to_send if self._has_news(one)]
                if ready:
                    return ready[0]
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._store.news.wait(left)

    def _has_news(self, arrival: Arrival) -> bool:
        part, sent = self._sent[arrival.item.number]
        return arrival.state in (HERE, FAILED) or part < len(arrival.sizes) or sent < arrival.count_ready(part)

    def _send_some(self, arrival: Arrival) -> None:
        number = arrival.item.number
        part, sent = self._sent[number]
        if arrival.state == FAILED:
            told = arrival.problem.encode("utf-8", "replace")[:_LONGEST_PROBLEM]
            self._right.sendall(_HEAD.pack(_FAILED, number, part, len(told)) + told)
            self._finish(arrival)
            return
        ready = arrival.count_ready(part)
        if sent < ready:
            self._sent[number] = (part, sent + self._send_piece(arrival, part, sent, min(PIECE, ready - sent)))
            return
        if part >= len(arrival.sizes):
            return  # it is read anew, from its beginning
        self._right.sendall(_HEAD.pack(_PART_ENDED, number, part, 0))
        self._close(number)
        self._sent[number] = (part + 1, 0)
        if part + 1 == len(arrival.item.parts):
            self._finish(arrival)

    def _send_piece(self, arrival: Arrival, part: int, offset: int, size: int) -> int:
        data: Union[bytes, memoryview]
        data = arrival.view(offset, size)[0] if arrival.passes_through else self._read(arrival, part, offset, size)
        self._right.sendall(_HEAD.pack(_DATA, arrival.item.number, part, len(data)))
        self._right.sendall(data)
        arrival.let_go(HANDING_ON, offset + len(data))
        return len(data)

    def _read(self, arrival: Arrival, part: int, offset: int, size: int) -> bytes:
        number = arrival.item.number
        if number in self._handles and self._handles[number][1] != arrival.writing:
            self._close(number)
        if number not in self._handles:
            writing = arrival.writing
            self._handles[number] = arrival.open(part), writing
        data = os.pread(self._handles[number][0], size, offset)
        if not data:
            raise OSError("{} was cut short on this node".format(arrival.item.name))
        return data

    def _finish(self, arrival: Arrival) -> None:
        self._close(arrival.item.number)
        arrival.leave(HANDING_ON)
        self._left_to_send.remove(arrival)

    def _close(self, number: int) -> None:
        handle = self._handles.pop(number, None)
        if handle is not None:
            os.close(handle[0])


def _receive_exactly(source: socket.socket, view: memoryview, may_end: bool = False) -> memoryview:
    left = view
    while len(left):
        count = source.recv_into(left)
        if not count:
            if may_end and len(left) == len(view):
                return view[:0]
            raise TalkError("it hung up in the middle")
        left = left[count:]
    return view


def _close(found: Optional[socket.socket]) -> None:
    if found is not None:
        try:
            found.close()
        except OSError:
            pass
