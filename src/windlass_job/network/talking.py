"""What nodes say to each other in the network test: a greeting with proof, bursts of data, a sum around the ring."""

import hashlib
import hmac
import json
import os
import random
import socket
import threading
import time
from typing import Any, Dict, List, Optional

BURST = 1 << 20
BURSTS = 3  # the best counts: one may have been held up by something else
SUM_BYTES = 4 << 20
LANE = 8  # bytes of one number of the sum
LONGEST_LINE = 2048
_ACK = b"+"


class TalkError(Exception):
    """The other side is no node of this test, or hung up in the middle."""


class Stuck(Exception):
    """Greetings came through, and data did not."""


def make_listener(address: str, port: int) -> socket.socket:
    """On all addresses of this machine where `address` is empty, also those of IPv6. May raise OSError."""
    family = socket.AF_INET if address or not _has_ipv6() else socket.AF_INET6
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # The training binds the same port soon after.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def _has_ipv6() -> bool:
    """Asked of the system: Python may know it where the kernel has it switched off."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as trial:
            trial.bind(("::", 0))
    except OSError:
        return False
    return True


# ---- the greeting: both sides prove that they know the word ---------------------------------------------------------


def greet(calling: socket.socket, word: bytes, me: str, peer: str, use: str) -> Dict[str, Any]:
    """Who calls. `ms` of one question and answer, the peer's `address` for data, and how far its clock is `ahead_s`."""
    nonce = os.urandom(16).hex()
    _send(calling, {"name": me, "nonce": nonce})
    answer = _receive(calling)
    if answer.get("name") != peer or not _is_proof(answer.get("proof"), word, "answer", nonce, peer):
        raise TalkError("something else answers there")
    asked = time.monotonic()
    _send(calling, {"use": use, "proof": _prove(word, "call", str(answer.get("nonce")), me)})
    last = _receive(calling)
    took_s = time.monotonic() - asked
    ahead_s = float(last.get("t") or 0) - time.time() + took_s / 2
    return {"ms": round(took_s * 1000, 3), "address": answer.get("address"), "ahead_s": round(ahead_s, 3)}


def welcome(caller: socket.socket, word: bytes, me: str, address: Optional[str]) -> Dict[str, Any]:
    """Who is called. The caller's `name`, and what it will `use` the connection for."""
    hello = _receive(caller)
    name, nonce = str(hello.get("name")), os.urandom(16).hex()
    proof = _prove(word, "answer", str(hello.get("nonce")), me)
    _send(caller, {"name": me, "proof": proof, "nonce": nonce, "address": address})
    reply = _receive(caller)
    if not _is_proof(reply.get("proof"), word, "call", nonce, name):
        raise TalkError("a stranger called")
    _send(caller, {"t": time.time()})
    return {"name": name, "use": reply.get("use")}


def _prove(word: bytes, *parts: str) -> str:
    return hmac.new(word, "\n".join(parts).encode("utf-8"), hashlib.sha256).hexdigest()


def _is_proof(told: Any, word: bytes, *parts: str) -> bool:
    return hmac.compare_digest(str(told).encode("utf-8"), _prove(word, *parts).encode("utf-8"))


def _send(talk: socket.socket, message: Dict[str, Any]) -> None:
    talk.sendall(json.dumps(message).encode("ascii") + b"\n")


def _receive(talk: socket.socket) -> Dict[str, Any]:
    """One line, byte by byte: what follows it is data, and not ours to take."""
    line = b""
    while not line.endswith(b"\n"):
        try:
            piece = talk.recv(1)
        except socket.timeout:
            raise TalkError("connected, but no answer within {:g} s".format(talk.gettimeout() or 0)) from None
        if not piece or len(line) > LONGEST_LINE:
            raise TalkError("something else answers there")
        line += piece
    try:
        message = json.loads(line.decode("ascii"))
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise TalkError("something else answers there")
    return message


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
