"""What nodes send each other in the network test once they have greeted: bursts of data, a sum around the ring."""

import random
import socket
import threading
import time
from typing import List

from windlass_job.starting.greeting import TalkError

BURST = 1 << 20
BURSTS = 3  # the best counts: one may have been held up by something else
SUM_BYTES = 4 << 20
LANE = 8  # bytes of one number of the sum
_ACK = b"+"


class Stuck(Exception):
    """Greetings came through, and data did not."""


# ---- data -----------------------------------------------------------------------------------------------------------


def send_bursts(target: socket.socket) -> float:
    """MB/s of the best."""
    data = bytes(BURST)
    rates = []
    for number in range(BURSTS):
        began = time.monotonic()
        try:
            target.sendall(data)
            _receive_exactly(target, 1)
        except socket.timeout:
            words = "data got stuck: of {} MB not more than {} arrived"
            raise Stuck(words.format(BURSTS * BURST >> 20, number * BURST >> 20)) from None
        rates.append(BURST / 1e6 / max(time.monotonic() - began, 1e-9))
    return round(max(rates), 3)


def receive_bursts(source: socket.socket) -> None:
    for _ in range(BURSTS):
        _receive_exactly(source, BURST)
        source.sendall(_ACK)


def _receive_exactly(source: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = source.recv_into(view)
        if not count:
            raise TalkError("the connection was closed")
        view = view[count:]
    return data


# ---- the sum --------------------------------------------------------------------------------------------------------


def all_reduce(left: socket.socket, right: socket.socket, index: int, count: int, seed: bytes) -> bool:
    """A ring all-reduce as trainings do it: parts are summed around the ring, then handed around. True: all is right.

    A part is one big integer whose lanes of 8 bytes are the numbers: Python adds those as fast as C does, and no lane
    spills into the next, because each is below 2**32 and times at most the sum of all indices.
    """
    size = -(-SUM_BYTES // (count * LANE)) * LANE
    seeds = random.Random(seed)
    ones = [_make_part(seeds, size) for _ in range(count)]
    parts = [part * (index + 1) for part in ones]
    for step in range(count - 1):
        came = _pass_on(left, right, parts[(index - step) % count], size)
        parts[(index - step - 1) % count] += came
    for step in range(count - 1):
        parts[(index - step) % count] = _pass_on(left, right, parts[(index - step + 1) % count], size)
    whole = count * (count + 1) // 2
    return parts == [one * whole for one in ones]


def _make_part(seeds: random.Random, size: int) -> int:
    """Random numbers of 32 bits, one in each lane: a few that repeat will do, since all are compared."""
    few = b"".join(seeds.getrandbits(32).to_bytes(LANE, "little") for _ in range(64))
    return int.from_bytes((few * (size // len(few) + 1))[:size], "little")


def _pass_on(left: socket.socket, right: socket.socket, part: int, size: int) -> int:
    """Send one part to the right while another comes from the left."""
    problems: List[BaseException] = []

    def send() -> None:
        try:
            right.sendall(part.to_bytes(size, "little"))
        except OSError as error:
            problems.append(error)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    came = int.from_bytes(_receive_exactly(left, size), "little")
    sender.join()
    if problems:
        raise problems[0]
    return came
