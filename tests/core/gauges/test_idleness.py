"""When GPUs stand idle, how much of their hours that was, and when one idle period ends and another begins."""

import pytest

from windlass.core.gauges.idleness import IdlePeriod, find_idle_share, follow_period, is_idle, is_starved, tell_idle
from windlass.core.gauges.nodes import summarise_node
from windlass.core.gauges.series import GpuGauges, NodeGauges, NodeSeries, RunGauges, Series


def _make(*uses: tuple[float | None, ...]) -> RunGauges:
    times = (0.0, 10.0, 20.0, 60.0)
    gpus = tuple(GpuGauges(uuid=str(number), use=Series(times=times, values=use)) for number, use in enumerate(uses))
    return RunGauges(nodes=(NodeSeries(node="n1", gpus=gpus),))


def test_each_row_counts_for_the_time_since_the_one_before() -> None:
    assert find_idle_share(_make((0.0, 0.0, 90.0, 90.0))) == pytest.approx(10 / 60)


def test_gpus_are_taken_together() -> None:
    assert find_idle_share(_make((50.0,) * 4, (0.0,) * 4)) == pytest.approx(0.5)


def test_what_nobody_measured_is_unknown() -> None:
    assert find_idle_share(_make((None,) * 4)) is None
    assert find_idle_share(RunGauges()) is None


def test_a_counter_that_flickers_is_idle_and_work_is_not() -> None:
    (_, flickers), (_, works) = _make((0.0, 1.0, 0.0, 1.0), (0.0, 0.0, 2.0, 0.0)).gpus

    assert is_idle(flickers)
    assert not is_idle(works)
    assert not is_idle(GpuGauges(uuid="mig"))


def test_the_summary_of_a_node_counts_as_all_others_do() -> None:
    (node,) = _make((0.0, 1.0, 0.0, 1.0), (90.0,) * 4).nodes

    assert summarise_node(node).idle_gpus == 1


def test_idle_gpus_are_told_in_words_and_others_are_not() -> None:
    node = NodeGauges(node="n1", seconds=900, gpus=4, gpu_utilisation=80.0)
    little = NodeGauges(node="n2", seconds=900, gpus=4, gpu_utilisation=2.0)

    assert tell_idle([node]) is None
    assert tell_idle([little]) == "its 4 GPUs are 2 % busy in the last 15 min"
    assert tell_idle([node, little]) is None
    assert tell_idle([NodeGauges(node="n1", seconds=599, gpus=1, gpu_utilisation=0.0)]) is None
    assert is_starved(little)
    assert not is_starved(node)


def test_a_period_goes_on_over_a_short_burst_and_ends_with_ten_minutes_of_work() -> None:
    begun = follow_period(None, is_idle=True, now=100.0)
    assert begun == IdlePeriod(begin=100.0)
    assert follow_period(None, is_idle=False, now=100.0) is None

    burst = follow_period(begun, is_idle=False, now=200.0)
    assert follow_period(burst, is_idle=True, now=300.0) == IdlePeriod(begin=100.0)

    worked = follow_period(burst, is_idle=False, now=500.0)
    assert worked == IdlePeriod(begin=100.0, busy_since=200.0)
    assert follow_period(worked, is_idle=True, now=800.0) == IdlePeriod(begin=800.0)
