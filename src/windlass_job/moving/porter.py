"""The porter: receives large data at the site and gives it, in a session of its own beside the deputy's.

It comes over its input like the deputy (`windlass/edges/bundle.py`) and leaves nothing of itself behind. Shards are
checked and brought to the disk in a thread, while the next one comes in.
"""

import json
import os
import sys
import threading
import time
import zlib

from windlass_job import disk, wire
from windlass_job.moving import giving, receiving
from windlass_job.moving.line import Ended, Line
from windlass_job.shards.card import CardDamaged
from windlass_job.shards.pointers import find_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from windlass_job.moving.parts import Part
    from windlass_job.moving.receiving import Receiving

    Request = Dict[str, Any]

IDLE_S = 120.0  # the laptop gives a sign of life every few seconds
_ACK_BYTES = 32 << 20
_ACK_S = 0.5
_BEAT_S = 10.0
_BLOCK = 1 << 20


def main(nonce: str) -> None:
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    porter = Porter(Line(source, sink, nonce, IDLE_S))
    try:
        porter.serve()
    except (Ended, BrokenPipeError):
        pass
    finally:
        porter.close()


class Porter:
    """Requests that want an answer carry an id; bytes of a shard do not."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._receiving: "Optional[Receiving]" = None
        self._part: "Optional[Part]" = None
        self._finishing: "List[threading.Thread]" = []
        self._acked = 0
        self._acked_at = 0.0
        self._beat_at = 0.0
        self._buffer = memoryview(bytearray(_BLOCK))

    def serve(self) -> None:
        python = "%d.%d.%d" % sys.version_info[:3]
        self._line.send({"protocol": wire.PROTOCOL, "python": python, "host": os.uname()[1], "pid": os.getpid()})
        while True:
            request = self._line.receive()
            if request["do"] == "bye":
                return
            try:
                self._handle(request)
            except disk.Refused as error:
                self._fail(request, error.kind, error.problem)
            except CardDamaged as error:
                self._fail(request, "damaged", str(error))
            except OSError as error:
                if isinstance(error, BrokenPipeError):
                    raise
                self._fail(request, disk.name_kind(error), disk.describe(error))

    def close(self) -> None:
        for thread in self._finishing:
            thread.join()
        self._drop_part()
        if self._receiving is not None:
            self._receiving.let_go()

    def _handle(self, request: "Request") -> None:
        operations: "Dict[str, Callable[[Request], None]]" = {
            "data": self._take_data,
            "ping": self._ping,
            "probe": self._probe,
            "begin": self._begin,
            "join": self._join,
            "card": self._give_card,
            "put": self._put,
            "index": self._finish_part,
            "bring": self._bring,
            "drop": self._drop,
            "finish": self._finish,
            "leave": self._leave,
            "remove_landing": self._remove_landing,
            "look": self._look,
            "give": self._give,
            "land": self._land,
        }
        operations[request["do"]](request)

    def _answer(self, request: "Request", values: "Request", payload: bytes = b"") -> None:
        view = memoryview(payload) if payload else None
        self._line.send({"id": request["id"], "ok": True, "values": values}, view)

    def _fail(self, request: "Request", kind: str, problem: str) -> None:
        """Bytes that follow in vain are thrown away: a failed shard's are told by their next `data` no more."""
        if request["do"] == "data":
            self._drop_part()
        self._line.send({"id": request.get("id"), "ok": False, "kind": kind, "problem": problem})

    # ---- a data set that comes in

    def _begin(self, request: "Request") -> None:
        self._receiving = receiving.Receiving(find_target(request["target"]), request["token"])
        values = self._receiving.begin(request["laptop"])
        self._answer(request, values, self._receiving.load_card())

    def _join(self, request: "Request") -> None:
        self._receiving = receiving.Receiving(disk.as_path(request["path"]), request["token"])
        self._receiving.join()
        self._answer(request, {})

    def _give_card(self, request: "Request") -> None:
        self._answer(request, {}, self._receive().load_card())

    def _put(self, request: "Request") -> None:
        self._drop_part()
        opened = self._receive().open_part(request["plan"], request["name"], request["start"])
        self._part = opened
        self._acked = opened.written

    def _take_data(self, request: "Request") -> None:
        part = self._part
        pieces = self._line.take(request["bytes"])
        try:
            for piece in pieces:
                if part is not None:
                    part.write(piece)
        except OSError:
            for _ in pieces:
                pass  # the rest of the frame, so that the next line is found
            raise
        if part is not None:
            self._acknowledge(part)

    def _acknowledge(self, part: "Part") -> None:
        now = time.monotonic()
        if part.written - self._acked < _ACK_BYTES and now - self._acked_at < _ACK_S:
            return
        self._receive().check_ours()
        self._acked, self._acked_at = part.written, now
        self._line.send({"ack": part.written, "plan": part.plan})

    def _finish_part(self, request: "Request") -> None:
        index = self._line.take_all(request["bytes"])
        part, self._part = self._part, None
        if part is None:
            return  # it failed before, and that was told
        thread = threading.Thread(target=self._finish_aside, args=(request, part, index))
        thread.start()
        self._finishing = [one for one in self._finishing if one.is_alive()] + [thread]

    def _finish_aside(self, request: "Request", part: "Part", index: bytes) -> None:
        try:
            self._receive().check_ours()
            record = part.finish(index, request["size"], request["crc"], request["check"], request.get("about"))
            self._answer(request, record)
        except disk.Refused as error:
            self._fail(request, error.kind, error.problem)
        except BrokenPipeError:
            pass
        except OSError as error:
            self._fail(request, disk.name_kind(error), disk.describe(error))

    def _bring(self, request: "Request") -> None:
        """A shard from the landing place, each file of it checked again."""
        receive = self._receive()
        index = disk.read_bytes(disk.as_path(request["index"]))
        if zlib.crc32(index) != request["index_crc"]:
            raise disk.Refused("damaged", "the index of {} is damaged at the landing place".format(request["name"]))
        part = receive.open_part(request["plan"], request["name"], request["start"])
        try:
            receive.bring(part, disk.as_path(request["source"]), self._beat)
        except BaseException:  # a signal to stop too: what came so far is kept
            part.close()
            raise
        self._answer(request, part.finish(index, request["size"], part.crc, True, request.get("about")))

    def _drop(self, request: "Request") -> None:
        self._receive().drop(request["plan"], request["name"])
        self._answer(request, {})

    def _finish(self, request: "Request") -> None:
        content = self._line.take_all(request["bytes"])
        for thread in self._finishing:
            thread.join()
        self._answer(request, self._receive().finish(content, request["known_crc"]))

    def _leave(self, request: "Request") -> None:
        """Nothing changed: no trace is left, where nothing is on its way."""
        self._receive().clean_up()
        self._answer(request, {})

    def _remove_landing(self, request: "Request") -> None:
        receiving.remove_landing(disk.expand_root(request["path"]))
        self._answer(request, {})

    # ---- what goes out

    def _look(self, request: "Request") -> None:
        values, listing = giving.look(request["what"], self._beat)
        self._answer(request, values, json.dumps(listing).encode("ascii"))

    def _give(self, request: "Request") -> None:
        """A file from a byte on, in pieces; the answer has the checksum of all of it up to the end."""
        with giving.open_inside(request["base"], request["name"]) as file:
            at, end = request["start"], request["end"]
            crc = giving.count_crc(file, at)
            while at < end:
                count = file.readinto(self._buffer[: min(_BLOCK, end - at)])
                if not count:
                    break
                piece = self._buffer[:count]
                crc = zlib.crc32(piece, crc)
                self._line.send({"piece": request["id"]}, piece)
                at += count
        self._answer(request, {"end": at, "crc": crc})

    def _land(self, request: "Request") -> None:
        """A file brought to the landing place, where the transfer host can read it."""
        landing = giving.land(request["base"], request["name"], disk.expand_root(request["landing"]), self._beat)
        self._answer(request, {"base": disk.as_text(landing)})

    # ---- and the rest

    def _beat(self) -> None:
        """Called while something long goes on: the laptop hears now and then that it does."""
        now = time.monotonic()
        if now - self._beat_at > _BEAT_S:
            self._beat_at = now
            self._line.send({"beat": True})

    def _ping(self, request: "Request") -> None:
        if "id" in request:
            self._answer(request, {})

    def _probe(self, request: "Request") -> None:
        """How fast the way is: bytes that nobody wants."""
        for _ in self._line.take(request["bytes"]):
            pass
        self._answer(request, {})

    def _receive(self) -> "Receiving":
        if self._receiving is None:
            raise disk.Refused("failed", "nothing was begun")
        return self._receiving

    def _drop_part(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None
