"""A training of fixed length whose weights depend on every step and every rank: sent to the site and run under fire.

The standard library only. `compute_weights` is the same training without any process: what must come out.
"""

import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

SIZE = 32  # weights
PATIENCE_S = 20.0  # for a rank that does not answer


def make_gradient(weights: list[float], step: int, rank: int) -> list[float]:
    """Any function will do that leaves no step and no rank without a trace in the weights."""
    seed = (step * 7919 + rank * 104729) % 65521
    return [0.01 * (weight - ((seed * (place + 3)) % 257) / 257.0) for place, weight in enumerate(weights)]


def apply(weights: list[float], gradients: list[list[float]]) -> list[float]:
    return [
        weight - sum(parts) / len(parts) for weight, parts in zip(weights, zip(*gradients, strict=False), strict=False)
    ]


def compute_weights(steps: int, ranks: int) -> list[float]:
    weights = [0.0] * SIZE
    for step in range(1, steps + 1):
        weights = apply(weights, [make_gradient(weights, step, rank) for rank in range(ranks)])
    return weights


class Ring:
    """Rank 0 gathers from the others and tells them the sum and whether to stop."""

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world
        address = os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29400"))
        self._peers = self._accept(address) if rank == 0 else [self._connect(address)]

    def _accept(self, address: "tuple[str, int]") -> "list[socket.socket]":
        if self.world == 1:
            return []
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("", address[1]))
            listener.listen(self.world)
            listener.settimeout(PATIENCE_S)
            found: dict[int, socket.socket] = {}
            while len(found) < self.world - 1:
                peer = listener.accept()[0]
                peer.settimeout(PATIENCE_S)
                found[struct.unpack("i", take(peer, 4))[0]] = peer
        return [found[rank] for rank in sorted(found)]

    def _connect(self, address: "tuple[str, int]") -> socket.socket:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                peer = socket.create_connection(address, timeout=PATIENCE_S)
                peer.sendall(struct.pack("i", self.rank))
                return peer
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def share(self, step: int, weights: list[float]) -> "tuple[int, list[float]]":
        """Where rank 0 begins, on every rank."""
        form = f"i{SIZE}d"
        if self.rank == 0:
            for peer in self._peers:
                peer.sendall(struct.pack(form, step, *weights))
            return step, weights
        begun = struct.unpack(form, take(self._peers[0], struct.calcsize(form)))
        return begun[0], list(begun[1:])

    def gather(self, mine: list[float], stop: bool) -> "tuple[list[list[float]], bool]":
        form = f"{SIZE}d"
        if self.rank == 0:
            parts = [mine] + [list(struct.unpack(form, take(peer, 8 * SIZE))) for peer in self._peers]
            answer = struct.pack("?", stop) + b"".join(struct.pack(form, *part) for part in parts)
            for peer in self._peers:
                peer.sendall(answer)
            return parts, stop
        self._peers[0].sendall(struct.pack(form, *mine))
        answer = take(self._peers[0], 1 + 8 * SIZE * self.world)
        cut = [answer[1 + 8 * SIZE * rank : 1 + 8 * SIZE * (rank + 1)] for rank in range(self.world)]
        return [list(struct.unpack(form, part)) for part in cut], bool(answer[0])


def take(peer: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        more = peer.recv(count - len(content))
        if not more:
            raise ConnectionError("a rank has gone")
        content += more
    return content


def train(steps: int, interval: int, pace_s: float) -> int:
    from windlass_job import run

    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    saves = run.checkpoint(os.environ["WINDLASS_CHECKPOINT_DIR"])
    ring = Ring(rank, world)
    step, weights = ring.share(*load(saves.latest() if rank == 0 else None))
    note(rank, event="start", step=step)
    while step < steps:
        time.sleep(pace_s)
        step += 1
        parts, stop = ring.gather(make_gradient(weights, step, rank), rank == 0 and run.should_stop())
        weights = apply(weights, parts)
        note(rank, event="step", step=step)
        if rank == 0:
            run.progress(step, steps, unit="step")
        if stop or step % interval == 0 or step == steps:
            save(saves, step, weights)
        if stop and step < steps:
            return 0
    if rank == 0:
        aside = Path("final.new")
        aside.write_text(json.dumps([weight.hex() for weight in weights]))
        aside.replace("final.json")
    return 0


def load(folder: Path | None) -> "tuple[int, list[float]]":
    if folder is None:
        return 0, [0.0] * SIZE
    state = json.loads((folder / "state.json").read_text())
    return state["step"], [float.fromhex(weight) for weight in state["weights"]]


def save(saves: "object", step: int, weights: list[float]) -> None:
    if os.environ.get("RANK", "0") != "0":
        return
    try:
        with saves.save(step) as folder:  # type: ignore[attr-defined]
            (folder / "state.json").write_text(
                json.dumps({"step": step, "weights": [weight.hex() for weight in weights]})
            )
            (folder / "ballast").write_bytes(os.urandom(1 << 16))  # so that a full disk is felt
    except OSError as error:
        print(f"not saved at step {step}: {error}", flush=True)
        return
    note(0, event="saved", step=step)


def note(rank: int, **values: object) -> None:
    """The trace by which the judge knows what was done twice; one write() a line."""
    if rank:
        return
    values.update(t=time.time(), job=os.environ.get("SLURM_JOB_ID"), link=os.environ.get("WINDLASS_LINK"))
    values.update(pid=os.getpid(), node=os.environ.get("SLURMD_NODENAME"))
    handle = os.open("trace.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(handle, json.dumps(values).encode() + b"\n")
    os.close(handle)


if __name__ == "__main__":
    sys.exit(train(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
