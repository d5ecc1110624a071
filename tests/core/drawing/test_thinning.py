"""Series made short for drawing."""

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.drawing.thinning import thin_to_bars
from windlass.core.gauges.series import Series


def test_peaks_stay() -> None:
    series = Series(times=tuple(range(100)), values=tuple(97.0 if time == 42 else 3.0 for time in range(100)))

    buckets = thin_to_bars(series, begin=0, end=100, count=10)

    assert len(buckets) == 10
    assert [(one.least, one.most) for one in buckets if one.most > 3] == [(3, 97)]


def test_a_gap_stays_a_gap() -> None:
    series = Series(times=(0, 1, 50, 99), values=(1, 2, None, 4))

    assert [(one.begin, one.mean) for one in thin_to_bars(series, begin=0, end=100, count=10)] == [(0, 1.5), (90, 4)]


@given(
    st.lists(st.floats(0, 1e9), unique=True).map(sorted),
    st.integers(1, 50),
)
def test_nothing_within_is_lost(times: list[float], count: int) -> None:
    series = Series(times=tuple(times), values=tuple(times))
    begin, end = (times[0], times[-1]) if times else (0.0, 0.0)

    buckets = thin_to_bars(series, begin=begin, end=end, count=count)

    assert len(buckets) <= count
    assert max((one.most for one in buckets), default=None) == max(times, default=None)
    assert min((one.least for one in buckets), default=None) == min(times, default=None)
