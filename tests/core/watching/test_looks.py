"""When a site may be asked again."""

from dataclasses import replace

import pytest

from windlass.core.watching.looks import (
    LEAST_S,
    NEVER,
    Look,
    begin,
    count_pause_s,
    end_badly,
    end_well,
    hasten,
    is_due,
    stretch,
)


def test_a_site_is_due_when_its_pause_is_over() -> None:
    look = begin(NEVER, 1000.0)

    assert is_due(NEVER, 1000.0, 30)
    assert not is_due(look, 1029.9, 30)
    assert is_due(look, 1030.0, 30)


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    assert is_due(Look(tried=5000.0), 1000.0, 30)


@pytest.mark.parametrize(("poll_s", "pause_s"), [(1, LEAST_S), (10, 10), (60, 60)])
def test_no_site_is_asked_more_often_than_every_ten_seconds(poll_s: float, pause_s: float) -> None:
    assert count_pause_s(poll_s, is_ours_alone=False) == pause_s


@pytest.mark.parametrize(("pause_s", "at_once_s"), [(1, 1), (10, 10), (30, 10), (31, 31), (60, 60)])
def test_who_looks_once_sees_newer_things_but_a_site_that_wishes_rare_questions_gets_them(
    pause_s: float, at_once_s: float
) -> None:
    assert hasten(pause_s) == at_once_s


def test_the_slurm_of_this_machine_may_be_asked_as_often_as_its_file_says() -> None:
    assert count_pause_s(1, is_ours_alone=True) == 1


def test_failures_in_a_row_stretch_the_pause_and_an_answer_ends_that() -> None:
    look, pauses = begin(NEVER, 0.0), []
    for at in range(8):
        look = end_badly(look, float(at), problem="no route", hint=None, code="E403")
        pauses.append(stretch(30, look))

    assert pauses == [60, 120, 240, 480, 480, 480, 480, 480]
    assert (look.failing_since, look.failures) == (0.0, 8)
    assert stretch(30, end_well(look, 9.0)) == 30
    assert end_well(look, 9.0).problem is None


def test_what_was_seen_keeps_its_age_while_the_site_does_not_answer() -> None:
    look = end_badly(replace(NEVER, seen=100.0), 160.0, problem="no route", hint=None, code="E403")

    assert look.count_age_s(160.0) == 60
    assert NEVER.count_age_s(160.0) is None


def test_who_began_and_never_came_back_does_not_look_busy_for_ever() -> None:
    look = begin(NEVER, 1000.0)

    assert look.is_under_way(1001.0)
    assert not look.is_under_way(2000.0)
    assert not end_well(look, 1002.0).is_under_way(1003.0)
