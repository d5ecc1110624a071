"""Rows of gauges: short, read back whole, and a day of 64 GPUs in under 20 MB."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.gauges.lines import read_files, read_node
from windlass_job.gauging.cores import Cores
from windlass_job.gauging.rows import HEAD_EVERY, Sheet, Window
from windlass_job.gauging.samples import Sample
from windlass_job.gauging.sampling import LONGEST_PAUSE_S, Pace, find_pace, find_pause
from windlass_job.reading.waiting import Waiting

DAY_S = 86_400
MOST_BYTES = 20_000_000
CORES = Cores(2, frozenset({0, 1}))
ABOUT: dict[str, Any] = {"job": "45_1", "link": 1, "cores": 16, "memory_limit_mb": 515000, "shared": "lustre"}


def make_sample(
    moment: float, gauges: dict[str, float | None] | None = None, counters: dict[str, float] | None = None
) -> Sample:
    busy = int(moment * 100)
    return Sample(1.7e9 + moment, moment, gauges or {}, counters or {}, {0: (busy, busy), 1: (0, busy)})


def format_all(sheet: Sheet, window: Window, samples: list[Sample]) -> str:
    lines: list[bytes] = []
    for sample in samples:
        window.add(sample)
        lines += sheet.format(window.close())
    return b"".join(lines).decode()


def test_counts_become_rates_and_gauges_stay() -> None:
    samples = [
        make_sample(0, {"memory_mb": 900.4, "gpu0.use": 3}, {"cpu_cores": 100.0}),
        make_sample(10, {"memory_mb": 950, "gpu0.use": None}, {"cpu_cores": 115.0, "rank0.cpu_cores": 12.5}),
        make_sample(20, {"memory_mb": 940, "gpu0.use": 97}, {"cpu_cores": 90.0, "rank0.cpu_cores": 13.5}),
    ]

    text = format_all(Sheet({"gpus": [{"uuid": "a"}]}, is_coarse=True), Window(CORES), samples)

    node = read_node("n1", text)
    assert node is not None
    assert list(node.memory_mb.values) == [900, 950, 940]
    assert list(node.cpu_cores.values) == [None, 1.5, 0]
    assert list(node.full_cores.values) == [None, 1, 0]  # in the last it cannot have been this job
    assert list(node.gpus[0].use.values) == [3, None, 97]
    assert list(node.ranks[0].cpu_cores.values) == [None, 1.25, 0.1]


def test_several_samples_make_one_row() -> None:
    window = Window(CORES)
    window.add(make_sample(0, counters={"cpu_cores": 0.0}))
    window.close()
    for moment, use, memory in ((15, 0, 10), (30, 100, 99), (45, 50, 20)):
        gauges: dict[str, float | None] = {"gpu0.use": use, "gpu0.memory_mb": memory}
        window.add(make_sample(moment, gauges, {"cpu_cores": moment * 2.0}))

    row = window.close()

    assert (row["gpu0.use"], row["gpu0.memory_mb"], row["cpu_cores"]) == (50, 99, 2)


def test_the_end_of_a_file_can_be_read_alone() -> None:
    samples = [make_sample(moment, {"memory_mb": moment}) for moment in range(3 * HEAD_EVERY)]
    text = format_all(Sheet({}, is_coarse=True), Window(CORES), samples)

    node = read_node("n1", text[-len(text) // 2 :])

    assert node is not None
    assert HEAD_EVERY <= len(node.times) < 2 * HEAD_EVERY
    assert node.memory_mb.last == 3 * HEAD_EVERY - 1


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 100) | st.none()), min_size=1, max_size=20))
def test_what_is_written_is_read(values: list[tuple[int, int | None]]) -> None:
    samples = [
        make_sample(moment, {"memory_mb": memory, "gpu0.use": use}) for moment, (memory, use) in enumerate(values)
    ]

    node = read_node("n1", format_all(Sheet({"gpus": [{"uuid": "a"}]}, is_coarse=True), Window(CORES), samples))

    assert node is not None
    assert list(zip(node.memory_mb.values, node.gpus[0].use.values, strict=True)) == values


def write_a_day(gpus: int, ranks: int) -> str:
    """One node, at the pace of the sampler, with long but likely figures."""
    sheet = Sheet({**ABOUT, "gpus": [make_card(place) for place in range(gpus)]}, is_coarse=True)
    window, lines, moment = Window(CORES), list[bytes](), 0.0
    while moment <= DAY_S:
        pace = find_pace(moment, 15.0)
        window.add(make_busy_sample(moment, gpus, ranks))
        if len(window) >= pace.samples_a_row:
            lines += sheet.format(window.close())
        moment += pace.pause_s
    return b"".join(lines).decode()


def make_card(place: int) -> dict[str, object]:
    uuid = f"GPU-a312809c-85ee-abec-aeaa-b8ea1ba9{place:04}"
    return {"uuid": uuid, "name": "NVIDIA H100 80GB HBM3", "memory_mb": 81559}


def make_busy_sample(moment: float, gpus: int, ranks: int) -> Sample:
    rates = dict.fromkeys(("read_mb_s", "write_mb_s", "shared_read_mb_s", "shared_write_mb_s"), moment * 1234.57)
    of_ranks = {f"rank{rank}.cpu_cores": moment * 12.34 for rank in range(ranks)}
    counters = {"cpu_cores": moment * 14.57, "shared_ops_s": moment * 12_345, **rates, **of_ranks}
    gauges: dict[str, float | None] = {"memory_mb": 498_123, "memory_peak_mb": 514_999, "oom_kills": 0}
    for place in range(gpus):
        gauges |= {f"gpu{place}.use": 97, f"gpu{place}.memory_mb": 71_234, f"gpu{place}.power_w": 612}
    return make_sample(moment, gauges, counters)


def write_waits(folder: Path) -> str:
    """Of one rank for a day, a batch every two seconds."""
    (folder / "gauges").mkdir()
    waiting = Waiting({"WINDLASS_RUN_DIR": str(folder)}, 0.0)
    for second in range(0, DAY_S, 2):
        waiting.count(float(second), 0.123, 4096)
    waiting.close()
    return (folder / "gauges" / "data.1.0.jsonl").read_text()


@pytest.mark.parametrize(("nodes", "gpus"), [(8, 8), (16, 4), (64, 1)])
def test_a_day_of_64_gpus_is_under_20_mb(tmp_path: Path, nodes: int, gpus: int) -> None:
    node, waits = write_a_day(gpus, gpus), write_waits(tmp_path)

    total = nodes * len(node) + nodes * gpus * len(waits)

    assert total < MOST_BYTES, f"{total / 1e6:.1f} MB"
    read = read_files({"n1.jsonl": node, "data.1.0.jsonl": waits})
    assert len(read.nodes[0].gpus) == gpus
    assert read.nodes[0].seconds > DAY_S - 60
    assert waits.count("\n") > 1000
    assert max(len(line) for line in node.splitlines()) < 4000, "one write of less than a page is not torn"


def test_short_runs_are_seen_closely_and_long_ones_coarsely() -> None:
    assert [find_pace(age, 15.0) for age in (0, 119, 120, 3599, 3600)] == [
        Pace(5.0, 1),
        Pace(5.0, 1),
        Pace(15.0, 1),
        Pace(15.0, 1),
        Pace(15.0, 4),
    ]


def test_a_look_that_costs_much_is_repeated_later() -> None:
    assert find_pause(Pace(5.0, 1), 0.002) == 5.0
    assert find_pause(Pace(5.0, 1), 0.030) == pytest.approx(30.0)
    assert find_pause(Pace(5.0, 1), 9.0) == LONGEST_PAUSE_S


def test_a_head_is_a_line_that_people_can_read() -> None:
    (head, row) = Sheet(dict(ABOUT), is_coarse=True).format({"t": 1.7e9, "memory_mb": 12.0})

    assert json.loads(head)["columns"][:2] == ["t", "memory_mb"]
    assert row.startswith(b"[1700000000,12,null")
