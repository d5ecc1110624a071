"""Charts as sentences, and gauges thinned without losing their peaks."""

import math

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.drawing.thinning import thin_to_peaks, thin_to_points
from windlass.core.gauges.series import GpuGauges, NodeSeries, RunGauges, Series
from windlass.core.watching.gauge_charts import KINDS, list_series
from windlass.core.watching.metrics import Metric, shorten_name
from windlass.core.watching.summaries import summarize_gauges, summarize_metric, summarize_overlay


def _metric(*values: float) -> Metric:
    return Metric(
        name="loss",
        times=[float(at) for at in range(len(values))],
        steps=[10.0 * at for at in range(len(values))],
        values=list(values),
    )


def test_a_metric_is_one_sentence() -> None:
    assert summarize_metric(_metric(4, 1, 2)) == (
        "loss fell from 4 at step 0 to 2 at step 20; least 1 at step 10, most 4 at step 0; 3 points."
    )
    assert summarize_metric(_metric(1)) == "loss was 1 at step 0; 1 point."
    assert summarize_metric(_metric(math.nan)) == "loss: none of 1 values is a number."
    assert "1 of 3 values are no number" in summarize_metric(_metric(1, math.inf, 2))


def test_gpus_are_told_by_their_least_and_most() -> None:
    busy = Series(times=(0, 10), values=(90.0, 90.0))
    idle = Series(times=(0, 10), values=(10.0, 10.0))

    words = summarize_gauges(KINDS["use"], [("n1 GPU 0", busy), ("n1 GPU 1", idle)])

    assert words == "2 GPUs: 50 % on average; least n1 GPU 1 with 10 %, most n1 GPU 0 with 90 %."


def test_the_best_of_several_runs_is_named() -> None:
    assert summarize_overlay("loss", [("a", 1.0), ("b", 0.5), ("c", None)], "least") == (
        "loss of 2 runs: the least is 0.5, of b."
    )


def test_gpus_have_the_name_of_their_node_and_the_unit_of_the_chart() -> None:
    memory = Series(times=(0, 10), values=(40 * 1024.0, None))
    node = NodeSeries(node="n1", gpus=(GpuGauges(uuid="x", memory_mb=memory), GpuGauges(uuid="y")))

    found = list_series(RunGauges(nodes=(node,)), KINDS["memory"])

    assert found == (("n1 GPU 0", Series(times=(0, 10), values=(40.0, None))),)


@given(st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=500))
def test_peaks_stay_and_parts_are_few(values: list[float | None]) -> None:
    series = Series(times=tuple(float(at) for at in range(len(values))), values=tuple(values))

    xs, ys = thin_to_peaks(series, begin=0.0, end=float(len(values) - 1), count=20)

    known, kept = list(series.known), [y for y in ys if y is not None]
    assert len(xs) == len(ys) <= max(40, 2 * 20)
    assert xs == sorted(xs)
    assert (min(known, default=None), max(known, default=None)) == (min(kept, default=None), max(kept, default=None))


def test_values_that_no_axis_has_room_for_are_told_and_the_rest_is_drawn() -> None:
    metric = _metric(1, 1e308, -1e308, 2)

    _, drawn = thin_to_points(metric.steps, metric.values, 100)

    assert drawn == [1, None, None, 2]
    assert "; 2 of 4 values are too large to draw." in summarize_metric(metric)


def test_a_sentence_has_the_figures_of_the_table() -> None:
    assert "rose from 1 at step 0 to 12736 at step 10" in summarize_metric(_metric(1, 12736))


def test_a_name_of_any_length_has_room() -> None:
    long = shorten_name("x" * 5000 + "/val")

    assert (len(long), long[-4:]) == (60, "/val")
    assert shorten_name("") == "(without a name)"


def test_cores_and_memory_of_nodes_without_gpus_are_drawn() -> None:
    node = NodeSeries(
        node="n1",
        cpu_cores=Series(times=(0, 10), values=(3.5, 4.0)),
        memory_mb=Series(times=(0, 10), values=(2048.0, 4096.0)),
    )

    drawn = {name: found for name, kind in KINDS.items() if (found := list_series(RunGauges(nodes=(node,)), kind))}

    assert drawn == {
        "cores": (("n1", node.cpu_cores),),
        "ram": (("n1", Series(times=(0, 10), values=(2.0, 4.0))),),
    }
