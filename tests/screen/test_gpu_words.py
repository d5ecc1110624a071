"""GPUs of a run in lines: each by itself, folded by node, folded once more; never more than there is room for."""

from dataclasses import replace

import pytest

from windlass.cli.report_words import format_gpu
from windlass.core.efficiency.parts import GpuPart
from windlass.core.gauges.series import GpuGauges, NodeSeries, RunGauges, Series
from windlass.core.watching.gauge_charts import KINDS, list_series
from windlass.screen.gpu_words import make_gpu_lines
from windlass.screen.lines import Line, count_cells


def make(node: str, place: int, use: float | None = 80.0, power_w: float | None = 412.4) -> GpuPart:
    return GpuPart(
        node=node,
        place=place,
        uuid=f"{node}-{place}",
        name="NVIDIA H200",
        is_slice=use is None,
        use=use,
        most_use=use,
        memory_mb=30_000.0,
        memory_total_mb=60_000.0,
        power_w=power_w,
    )


def read(lines: tuple[Line, ...]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def test_each_gpu_has_a_line_while_there_is_room() -> None:
    shown = make_gpu_lines([make("n1", 0), make("n1", 1, use=0.0), make("n1", 2, use=None, power_w=None)], 4)

    assert read(shown) == [
        "GPU 0    ████████░░  80 %       memory ███░░░ 29GB of 59GB  412 W",
        "GPU 1    ░░░░░░░░░░   0 % idle  memory ███░░░ 29GB of 59GB  412 W",
        "GPU 2    use not told           memory ███░░░ 29GB of 59GB",
    ]


def test_the_memory_of_a_gpu_is_the_same_number_wherever_it_stands() -> None:
    part = replace(make("n1", 0), memory_mb=36 * 1024.0, memory_total_mb=80 * 1024.0)
    gpu = GpuGauges(uuid="x", memory_mb=Series(times=(0.0,), values=(part.memory_mb,)))
    gauges = RunGauges(nodes=(NodeSeries(node="n1", gpus=(gpu,)),))

    (line,), ((_, charted),) = read(make_gpu_lines([part], 1)), list_series(gauges, KINDS["memory"])

    assert "36GB of 80GB" in line
    assert charted.values == (36.0,)
    assert "at most 36.0 of 80 GB" in format_gpu(part)


def test_of_several_nodes_the_name_stands_there() -> None:
    assert read(make_gpu_lines([make("n1", 0), make("n2", 0)], 2))[1].startswith("n2 GPU 0 ████████░░  80 %")


def test_many_gpus_fold_to_a_line_a_node() -> None:
    gpus = [
        make(node, place, use=0.0 if (node, place) == ("n2", 3) else 100.0)
        for node in ("n1", "n2")
        for place in range(4)
    ]

    assert read(make_gpu_lines(gpus, 4)) == [
        "n1       ████       100 % of 4  memory 29GB of 59GB  1.6 kW",
        "n2       ███▁        75 % of 4, 1 idle  memory 29GB of 59GB  1.6 kW",
    ]


def test_many_nodes_fold_to_the_idlest_and_the_others() -> None:
    gpus = [make(f"n{node}", place, use=1.0 if node == 7 else 90.0) for node in range(1, 33) for place in range(4)]

    first, second, rest = read(make_gpu_lines(gpus, 3))

    assert first.startswith("n7       ▁▁▁▁         1 % of 4, 4 idle")
    assert second.startswith("n1 ")
    assert rest == "others   █████████░  90 % of 120 on 30 other nodes  49.5 kW"


@pytest.mark.parametrize("room", [0, 1, 2, 5])
def test_never_more_than_there_is_room_for(room: int) -> None:
    gpus = [make(f"a-node-with-a-very-long-name-{node}", place) for node in range(12) for place in range(8)]

    lines = make_gpu_lines(gpus, room)

    assert len(lines) == room
    assert all(count_cells(line) <= 80 for line in lines)
    assert make_gpu_lines([], room) == ()


def test_a_name_of_a_node_is_never_obeyed() -> None:
    (line,) = make_gpu_lines([make("n1\x1b[2J", 0), make("n2", 0)], 1)
    first, _ = make_gpu_lines([make("n1\x1b[2J\n", 0), make("n2", 0)], 2)

    assert all("\x1b" not in text and "\n" not in text for one in (line, first) for text, _ in one)
