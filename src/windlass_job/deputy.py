"""The deputy: does on a login node, or in a child process, what the laptop asks, and decides nothing.

It is sent over the connection at its start (see `windlass/edges/bundle.py`), leaves no file of its own at the site and
ends when its input ends. A frame, both ways, is a line of JSON with the number of bytes that follow, and those
bytes. Each answer begins with a word the laptop chose, so that the noise of start files is told apart.
"""

import json
import os
import select
import sys
import time
import zlib

from windlass_job import (
    deputy_blobs,
    deputy_commands,
    deputy_data,
    deputy_data_changes,
    deputy_farm,
    deputy_files,
    deputy_folders,
    deputy_mirror,
    deputy_ports,
    deputy_runs,
    deputy_search,
    deputy_update,
    deputy_wheels,
    disk,
    submission,
    wire,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

    Answer = Tuple[Dict[str, Any], bytes]

IDLE_S = 15 * 60  # nothing of ours stays on a login node when the laptop is forgotten in a bag
_BEAT_S = 10.0
_BLOCK = 1 << 20


class Call:
    """One request; a long operation calls `beat` now and then, so that the laptop knows we are alive."""

    def __init__(self, arguments: "Dict[str, Any]", payload: bytes, beat: "Callable[[], None]") -> None:
        self.arguments = arguments
        self.payload = payload
        self.beat = beat


def say_bye(call: Call) -> "Answer":
    return {}, b""


OPERATIONS: "Dict[str, Callable[[Call], Answer]]" = {
    "run": deputy_commands.run_command,
    "run_all": deputy_commands.run_all,
    "facts": deputy_files.get_facts,
    "read": deputy_files.read,
    "write": deputy_files.write,
    "list_files": deputy_files.list_files,
    "hash_files": deputy_files.hash_files,
    "missing_blobs": deputy_blobs.find_missing_blobs,
    "put_blobs": deputy_blobs.put_blobs,
    "prepare_run": deputy_folders.prepare_run,
    "update_code": deputy_update.update_code,
    "remove_run": deputy_folders.remove_run,
    "statuses": deputy_runs.get_statuses,
    "list_runs": deputy_runs.list_runs,
    "read_new": deputy_mirror.read_new,
    "find_in_file": deputy_search.find_in_file,
    "touch_stop": deputy_runs.touch_stop,
    "add_notes": deputy_runs.add_notes,
    "list_sets": deputy_data.list_sets,
    "register_set": deputy_data_changes.register_set,
    "unregister_set": deputy_data_changes.unregister_set,
    "remove_set": deputy_data_changes.remove_set,
    "find_users": deputy_data_changes.find_users,
    "share_set": deputy_data_changes.share_set,
    "list_wheels": deputy_wheels.list_wheels,
    "read_wheels": deputy_wheels.read_wheels,
    "find_wheels": deputy_wheels.find_wheels,
    "lay_wheel": deputy_wheels.lay_wheel,
    "farm_add": deputy_farm.add_tasks,
    "farm_look": deputy_farm.look,
    "farm_results": deputy_farm.read_results,
    "farm_calls": deputy_farm.read_calls,
    "farm_functions": deputy_farm.put_functions,
    "farm_rows": deputy_farm.read_rows,
    "farm_output": deputy_farm.find_output,
    "farm_turn": deputy_farm.turn,
    "farm_retry": deputy_farm.retry,
    "farm_stop": deputy_farm.stop,
    "try_port": deputy_ports.try_port,
    "submit": submission.submit,
    "submission": submission.look_at_submission,
    "settle": submission.settle,
    "close_submission": submission.close_submission,
    "forget_intent": submission.forget_intent,
    "bye": say_bye,
}


def main(nonce: str) -> None:
    # Commands and their children get neither our input nor our output by accident.
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    talk = Talk(source, sink, nonce)
    python = "%d.%d.%d" % sys.version_info[:3]
    talk.send({"protocol": wire.PROTOCOL, "python": python, "pid": os.getpid(), "host": os.uname()[1]})
    try:
        serve(talk)
    except BrokenPipeError:  # the laptop is gone
        pass


def serve(talk: "Talk") -> None:
    was_ok = True
    while True:
        request = talk.receive()
        if request is None:
            return
        header, payload = request
        if header.get("only_if_ok") and not was_ok:
            reply = {"ok": False, "kind": "skipped", "problem": "skipped: what came before it failed"}
            content = b""
        else:
            reply, content = answer(header, Call(header.get("arguments") or {}, payload, talk.beat))
        was_ok = bool(reply["ok"])
        talk.send(dict(reply, id=header.get("id")), content)
        if header["operation"] == "bye":
            return


def answer(header: "Dict[str, Any]", call: Call) -> "Answer":
    operation = OPERATIONS.get(header["operation"])
    if operation is None:
        return _tell_failure("failed", "unknown operation %r" % header["operation"])
    try:
        values, content = operation(call)
    except disk.Refused as error:
        return _tell_failure(error.kind, error.problem)
    except OSError as error:
        return _tell_failure(disk.name_kind(error), disk.describe(error))
    except (KeyError, TypeError, ValueError, UnicodeError, RecursionError) as error:
        return _tell_failure("failed", "%s: %s: %s" % (header["operation"], type(error).__name__, error))
    return {"ok": True, "values": values}, content


class Talk:
    """Frames over two file handles."""

    def __init__(self, source: int, sink: int, nonce: str) -> None:
        self._source = source
        self._sink = sink
        self._nonce = nonce.encode("ascii")
        self._held = b""
        self._last_sent = time.monotonic()

    def receive(self) -> "Optional[Tuple[Dict[str, Any], bytes]]":
        """The next request; None at the end of the input, or after a long silence."""
        while b"\n" not in self._held:
            if not select.select([self._source], [], [], IDLE_S)[0]:
                return None
            piece = os.read(self._source, _BLOCK)
            if not piece:
                return None
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        header = json.loads(line.decode("utf-8"))
        payload = self._receive_exactly(int(header.get("payload_bytes") or 0))
        return None if payload is None else (header, payload)

    def send(self, header: "Dict[str, Any]", payload: bytes = b"") -> None:
        header = dict(header, payload_bytes=len(payload), crc=zlib.crc32(payload))
        self._write(self._nonce + b" " + json.dumps(header).encode("ascii") + b"\n")
        self._write(payload)
        self._last_sent = time.monotonic()

    def beat(self) -> None:
        if time.monotonic() - self._last_sent > _BEAT_S:
            self.send({"beat": True})

    def _receive_exactly(self, size: int) -> "Optional[bytes]":
        held, self._held = self._held[:size], self._held[size:]
        pieces, left = [held], size - len(held)
        while left:
            piece = os.read(self._source, min(left, _BLOCK))
            if not piece:
                return None
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _write(self, content: bytes) -> None:
        view = memoryview(content)
        while len(view):
            view = view[os.write(self._sink, view[:_BLOCK]) :]


def _tell_failure(kind: str, problem: str) -> "Answer":
    return {"ok": False, "kind": kind, "problem": problem}, b""
