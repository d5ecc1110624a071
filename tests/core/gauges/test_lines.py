"""The files of gauges/ as series."""

import json

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.gauges.cutting import cut_end
from windlass.core.gauges.lines import cut_text, read_files, read_node
from windlass.core.gauges.series import NodeSeries, Series
from windlass_job import wire

CARD = {"uuid": "GPU-a", "name": "NVIDIA H200", "memory_mb": 143771}
SLICE = {"uuid": "MIG-b", "slice": True}


def head(*columns: str, gpus: object = (), **values: object) -> str:
    return json.dumps({"gauges": wire.GAUGE_FORMAT, "columns": ["t", *columns], "gpus": gpus, **values})


def read(*lines: object) -> NodeSeries:
    found = read_node("n1", "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines))
    assert found is not None
    return found


def test_a_node_its_gpus_and_its_ranks() -> None:
    columns = ("memory_mb", "cpu_cores", "gpu0.use", "gpu0.memory_mb", "gpu1.use", "rank0.cpu_cores", "rank3.cpu_cores")
    first = head(*columns, gpus=[CARD, SLICE], cores=12, memory_limit_mb=120832, shared="nfs")

    node = read(first, [10, 900, 1.5, 87, 30211, None, 1.0, 0.5], [25, 950, 1.25, 93, 30311, None, 0.75, 0.5])

    assert (node.cores, node.memory_limit_mb, node.shared, node.seconds) == (12, 120832, "nfs", 15)
    assert node.memory_mb == Series(times=(10, 25), values=(900, 950))
    busy, sliced = node.gpus
    assert (busy.uuid, busy.name, busy.memory_total_mb, busy.is_slice) == ("GPU-a", "NVIDIA H200", 143771, False)
    assert list(busy.use.values) == [87, 93]
    assert not busy.power_w
    assert (sliced.is_slice, bool(sliced.use)) == (True, False)
    assert [(one.rank, one.cpu_cores.values) for one in node.ranks] == [(0, (1.0, 0.75)), (3, (0.5, 0.5))]


def test_a_gpu_is_followed_by_its_number_through_restarts() -> None:
    other = {"uuid": "GPU-z"}

    node = read(head("gpu0.use", gpus=[CARD]), [10, 50], head("gpu0.use", "gpu1.use", gpus=[other, CARD]), [25, 1, 60])

    assert [(gpu.uuid, gpu.use.values) for gpu in node.gpus] == [("GPU-a", (50, 60)), ("GPU-z", (None, 1))]


def test_damaged_lines_are_passed_over() -> None:
    node = read(
        [5, 1],  # before any head: the end of a longer file
        head("memory_mb"),
        [10, 900],
        '{"gauges": 2, "colu',
        [25, 950, 3],
        ["x", 960],
        [40, "x"],
        [55, 970],
    )

    assert node.memory_mb == Series(times=(10, 40, 55), values=(900, None, 970))


def test_two_rows_of_one_second_are_two() -> None:
    node = read(head("memory_mb"), [10, 900], [10, 20])

    assert (node.memory_mb.most, node.memory_mb.last, len(node.times)) == (900, 20, 2)


def test_rows_of_a_form_to_come_are_not_guessed_at() -> None:
    assert read_node("n1", '{"gauges": 3, "columns": ["t", "memory_mb"]}\n[10, 900]\n') is None
    assert read_node("n1", "") is None


def test_files_of_nodes_and_of_ranks() -> None:
    row = head("memory_mb") + "\n[10, 900]\n"
    waits = '{"t": 10, "wait_share": 0.5, "samples_s": 100}\n{"t": 20, "wait_share": 0.25}\n{"t": 3'

    gauges = read_files(
        {"n10.jsonl": row, "n2.jsonl": row, "data.1.3.jsonl": waits, "data.1.4.jsonl": "", "notes.txt": row}
    )

    assert [node.node for node in gauges.nodes] == ["n2", "n10"]
    (told,) = gauges.waits
    assert (told.link, told.rank) == (1, 3)
    assert told.wait_share == Series(times=(10, 20), values=(0.5, 0.25))
    assert list(told.samples_s.values) == [100, None]
    assert (gauges.begin, gauges.end) == (10, 10)


def test_a_mean_goes_by_time_because_rows_lie_further_apart_later() -> None:
    assert Series(times=(0, 10, 100), values=(0, 0, 100)).mean == 90
    assert Series(times=(0,), values=(7,)).mean == 7
    assert Series(times=(0, 10), values=(None, None)).mean is None


@given(st.lists(st.integers(1, 60) | st.sampled_from(["head", "x", '{"gauges": 2, "colu', "[5"]), max_size=40))
def test_the_last_part_of_a_file_tells_the_same_as_the_whole(steps: list[int | str]) -> None:
    lines, now = [head("memory_mb", gpus=[CARD])], 100
    for step in steps:
        now += step if isinstance(step, int) else 0
        lines.append(f"[{now}, {now % 7}]" if isinstance(step, int) else step.replace("head", lines[0]))
    text = "\n".join(lines)

    short = cut_text(text, 90)

    assert cut_end(read_files({"n1.jsonl": short}), 90) == cut_end(read_files({"n1.jsonl": text}), 90)


def test_the_last_part_of_a_file_is_short() -> None:
    text = "\n".join([head("memory_mb"), *(f"[{10 * at}, 1]" for at in range(1, 5000))])

    assert len(cut_text(text, 100).splitlines()) == 12
    assert cut_text("no row at all", 100) == "no row at all"


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_files({"n1.jsonl": text, "n2.jsonl": cut_text(text, 10), "data.1.0.jsonl": text})
    read_files({"n1.jsonl": head("memory_mb", gpus=[CARD, 1]) + "\n" + text + "\n[1e999, 5]\n[1, 1e999]\n[true, 1]"})
