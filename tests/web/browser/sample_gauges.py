"""What the nodes of the sample's main run did: busy GPUs, a loader that waits, a shared file system."""

import json
import math
import random

from windlass_job import wire

_NODES = ("jwb0101", "jwb0102")
_GPUS = 4
_EVERY_S = 120.0
_COLUMNS = ["memory_mb", "cpu_cores", "full_cores", "read_mb_s", "shared_read_mb_s", "shared_write_mb_s"]


def make_gauges(begin: float, end: float) -> dict[str, bytes]:
    luck = random.Random(11)
    files = {f"gauges/{node}.jsonl": _make_node(node, begin, end, luck) for node in _NODES}
    return {**files, "gauges/data.2.0.jsonl": _make_waits(begin, end, luck)}


def _make_node(node: str, begin: float, end: float, luck: random.Random) -> bytes:
    parts = [f"gpu{place}.{name}" for place in range(_GPUS) for name in ("use", "memory_mb", "power_w")]
    cards = [
        {"uuid": f"GPU-{node}-{place}", "name": "NVIDIA A100-SXM4-40GB", "memory_mb": 40 * 1024}
        for place in range(_GPUS)
    ]
    head = {"gauges": wire.GAUGE_FORMAT, "columns": [wire.GAUGE_TIME, *_COLUMNS, *parts], "gpus": cards, "cores": 48}
    rows = [_make_row(begin + at * _EVERY_S, at, luck) for at in range(int((end - begin) / _EVERY_S))]
    return _write([{**head, "shared": "gpfs", "memory_limit_mb": 480 * 1024}, *rows])


def _make_row(moment: float, at: int, luck: random.Random) -> list[float]:
    is_saving = at % 30 == 29
    row = [round(moment), 96_000 + 40 * at, 9 + 2 * luck.random(), 3, 0, 600 + 100 * luck.random(), 40.0 * is_saving]
    for place in range(_GPUS):
        use = 71 if is_saving else 90 + 4 * math.sin(at / 9 + place) + 3 * luck.random()
        row += [round(use), 30 * 1024 + 300 * place, round(3.6 * use)]
    return row


def _make_waits(begin: float, end: float, luck: random.Random) -> bytes:
    moments = (begin + at * _EVERY_S for at in range(int((end - begin) / _EVERY_S)))
    return _write([{"t": moment, "wait_share": 0.16 + 0.05 * luck.random(), "samples_s": 812} for moment in moments])


def _write(rows: list[object]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
