"""How nodes of one job know each other over TCP: both sides prove that they know a word that only the job knows."""

import hashlib
import hmac
import json
import os
import socket
import time
from typing import Any, Dict, Optional

LONGEST_LINE = 2048


class TalkError(Exception):
    """The other side is no node of this job, or hung up in the middle."""


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
