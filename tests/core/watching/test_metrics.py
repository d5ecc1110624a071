"""Metrics: series out of lines, and few points that keep the peaks."""

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.drawing.thinning import is_drawable, thin_to_points
from windlass.core.watching.metrics import Reader, choose_files, read_metrics


def test_every_number_becomes_a_series() -> None:
    text = b'{"step":0,"t":1.0,"loss":2.0,"lr":0.1}\n{"step":1,"t":2.0,"loss":1.0,"name":"x","ok":true}\n'

    metrics = read_metrics({"metrics/1.0.jsonl": text})

    assert set(metrics) == {"loss", "lr"}
    assert (metrics["loss"].steps, metrics["loss"].times, metrics["loss"].values) == ([0, 1], [1, 2], [2, 1])


def test_a_loss_that_is_no_number_is_seen() -> None:
    metric = read_metrics({"1.0.jsonl": b'{"step":0,"t":1,"loss":1.0}\n{"step":1,"t":2,"loss":"nan"}\n'})["loss"]

    assert metric.is_broken
    assert metric.best == (1.0, 1.0)


def test_a_line_that_is_not_yet_whole_waits_for_its_rest() -> None:
    reader = Reader()

    reader.add("a", b'{"step":0,"t":1,"lo')
    assert reader.metrics == {}
    reader.add("a", b'ss":3.5}\n')

    assert reader.metrics["loss"].values == [3.5]


def test_damaged_lines_are_passed_over() -> None:
    text = b'\xff\xfe\n{"t":1}\nnull\n[1]\n{"step":"x","t":1,"loss":5}\n{"t":1e999,"loss":1}\n'

    assert read_metrics({"1.0.jsonl": text})["loss"].values[0] == 5


def test_links_follow_each_other_and_the_lowest_rank_speaks() -> None:
    names = ["metrics/2.0.jsonl", "metrics/10.0.jsonl", "metrics/1.3.jsonl", "metrics/1.1.jsonl"]

    assert choose_files(names) == ["metrics/1.1.jsonl", "metrics/2.0.jsonl", "metrics/10.0.jsonl"]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=500), st.integers(1, 20))
def test_thinning_keeps_ends_and_peaks(values: list[float], count: int) -> None:
    xs, ys = thin_to_points([float(at) for at in range(len(values))], values, count)

    known = [value for value in values if is_drawable(value)]
    shown = [value for value in ys if value is not None]
    assert len(xs) == len(ys) <= max(4 * count, 5 * count)
    assert xs == sorted(xs)
    assert (xs[0], xs[-1]) == (0, len(values) - 1)
    if known:
        assert (min(shown), max(shown)) == (min(known), max(known))
    if len(known) < len(values):
        assert None in ys
