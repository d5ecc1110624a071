"""Links: as few as the limit allows, and together they hold the whole training."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import HOUR, MINUTE
from windlass.core.chain import Links, cut_into_links
from windlass.errors import PlanError

durations = st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=366))
limits = st.timedeltas(min_value=MINUTE, max_value=timedelta(days=30))
notices = st.timedeltas(min_value=timedelta(0), max_value=timedelta(hours=18))


def test_what_fits_is_one_link() -> None:
    assert cut_into_links(24 * HOUR, 24 * HOUR, 2 * MINUTE) == Links(count=1, time=24 * HOUR)
    assert cut_into_links(240 * HOUR, None, 2 * MINUTE) == Links(count=1, time=240 * HOUR)


def test_each_link_holds_the_time_to_save_beside_its_share() -> None:
    assert cut_into_links(36 * HOUR, 24 * HOUR, 30 * MINUTE) == Links(count=2, time=18 * HOUR + 30 * MINUTE)


def test_the_time_to_save_may_make_one_link_more() -> None:
    assert cut_into_links(48 * HOUR, 24 * HOUR, timedelta(0)).count == 2
    assert cut_into_links(48 * HOUR, 24 * HOUR, MINUTE).count == 3


def test_a_notice_as_long_as_the_limit_leaves_half_to_train() -> None:
    assert cut_into_links(HOUR, 10 * MINUTE, 10 * MINUTE) == Links(count=12, time=10 * MINUTE)


def test_limits_are_whole_minutes_since_slurm_rounds_up() -> None:
    assert cut_into_links(timedelta(seconds=61), None, MINUTE).time == 2 * MINUTE
    assert cut_into_links(timedelta(seconds=59, microseconds=5), None, MINUTE).time == MINUTE
    assert cut_into_links(timedelta(seconds=20), None, MINUTE).time == timedelta(seconds=20)


@pytest.mark.parametrize(("total", "limit"), [(timedelta(0), HOUR), (-HOUR, None), (HOUR, timedelta(0))])
def test_no_time_is_refused_since_slurm_takes_zero_for_endless(total: timedelta, limit: timedelta | None) -> None:
    with pytest.raises(PlanError, match="needs some time"):
        cut_into_links(total, limit, MINUTE)


@given(durations, limits, notices)
def test_links_together_hold_the_whole_training(total: timedelta, limit: timedelta, notice: timedelta) -> None:
    links = cut_into_links(total, limit, notice)

    lost_to_saving = min(notice, links.time / 2) if links.count > 1 else timedelta(0)
    assert timedelta(0) < links.time <= limit
    assert links.count * (links.time - lost_to_saving) >= total


@given(durations, limits, notices)
def test_no_link_is_there_for_nothing(total: timedelta, limit: timedelta, notice: timedelta) -> None:
    links = cut_into_links(total, limit, notice)

    useful = limit - min(notice, limit / 2)
    assert links.count == 1 or (links.count - 1) * useful < total
