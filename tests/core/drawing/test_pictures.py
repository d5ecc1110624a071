"""Pictures are whole XML, say what they show, and hold no markup of anybody else's."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.drawing.gantt import draw_chain, tell_link
from windlass.core.drawing.lines import Axis, Curve, draw_lines
from windlass.core.drawing.marks import choose_style
from windlass.core.drawing.scales import choose_ticks, choose_time_ticks, format_tick, make_scale
from windlass.core.watching.chain import Link, Part, Phase, Save

STEP = Axis(title="step")
LINK = Link(
    number=2,
    parts=(
        Part(phase=Phase.WAITING, begin=0, end=3600),
        Part(phase=Phase.RUNNING, begin=3600, end=10_800),
        Part(phase=Phase.LOST, begin=10_800, end=11_000),
    ),
    saves=(Save(time=9_000, step=500), Save(time=9_001, step=510), Save(time=10_800, step=600)),
    why="the command failed",
)


def _clock(moment: float) -> str:
    return f"{moment:g}"


def _span(seconds: float) -> str:
    return f"{seconds:g} s"


@given(st.text(), st.lists(st.tuples(st.floats(-1e9, 1e9), st.none() | st.floats(-1e9, 1e9)), max_size=20))
def test_whatever_is_drawn_is_whole_xml(name: str, points: list[tuple[float, float | None]]) -> None:
    curve = Curve(name=name, xs=[x for x, _ in points], ys=[y for _, y in points])

    root = ET.fromstring(draw_lines(name, name, [curve, curve], STEP))

    assert {one.tag.rpartition("}")[2] for one in root.iter()} <= {"svg", "title", "desc", "rect", "path", "text"}


def test_a_gap_breaks_the_line() -> None:
    curve = Curve(name="loss", xs=[0, 1, 2, 3], ys=[1, 2, None, 3])

    text = draw_lines("loss", "", [curve], STEP)

    assert max(path.count("M") for path in text.split('d="')[1:] if "L" in path) == 2


def test_a_value_between_two_gaps_is_a_mark() -> None:
    curve = Curve(name="loss", xs=[0, 1, 2, 3], ys=[None, 2, None, None])

    drawn = ET.fromstring(draw_lines("loss", "", [curve], STEP))

    assert [one.get("stroke-width") for one in drawn.iter() if one.get("stroke-width") == "1.5" and one.get("d")] != []
    assert "a3.5" in "".join(one.get("d", "") for one in drawn.iter())


def test_what_is_always_nothing_lies_on_the_ground() -> None:
    labels = list_labels(draw_lines("loss", "", [Curve(name="loss", xs=[0, 1], ys=[0.0, 0.0])], STEP))

    assert "0" in labels
    assert "1" in labels
    assert not [one for one in labels if one.startswith("-")]


def test_one_moment_alone_has_seconds_around_it() -> None:
    axis = Axis(title="time", clock=_clock)

    labels = list_labels(draw_lines("use", "", [Curve(name="use", xs=[1.7e9], ys=[5.0])], axis))

    assert f"{1.7e9 - 1:g}" in labels


def test_no_word_below_the_axis_leaves_the_picture() -> None:
    axis = Axis(title="time", clock=lambda moment: f"12:34:{moment:02.0f}")
    drawn = ET.fromstring(draw_lines("use", "", [Curve(name="use", xs=[0, 3], ys=[5.0, 6.0])], axis))

    last = next(one for one in drawn.iter() if one.text == "12:34:03")

    assert last.get("text-anchor") == "end"
    assert float(last.get("x", "")) <= 720


def list_labels(picture: str) -> list[str]:
    return [one.text or "" for one in ET.fromstring(picture).iter() if one.tag.endswith("}text")]


def test_lines_differ_by_more_than_colour() -> None:
    styles = [choose_style(number) for number in range(100)]

    assert len({(one.dash, one.mark) for one in styles[:35]}) == 35
    assert len(set(styles)) == 100


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0.1, 0.34, [0.1, 0.15, 0.2, 0.25, 0.3]),
        (5, 5, [5]),
        (-1e6, 1e6, [-1e6, -5e5, 0, 5e5, 1e6]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert choose_ticks(low, high, 5) == pytest.approx(ticks)


def test_ticks_of_time_are_full_hours_of_the_reader_s_clock() -> None:
    half_past = choose_time_ticks(0, 6 * 3600, 6, offset_s=5.5 * 3600)

    assert half_past == [1800 + 3600 * hour for hour in range(6)]


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_scale_places_any_two_values(low: float, high: float) -> None:
    scale = make_scale(low, high, begin=0, end=100)

    assert scale.high > scale.low or abs(low) > 1e15


def test_large_numbers_are_short() -> None:
    assert [format_tick(value) for value in (0.25, 1500, 12_000, 2_500_000)] == ["0.25", "1.5k", "12k", "2.5M"]


def test_a_link_is_told_in_words() -> None:
    words = tell_link(LINK, clock=_clock, span=_span)

    assert words == (
        "Link 2, from 0: waiting 3600 s, running 7200 s, lost 200 s; "
        "3 checkpoints, the last of step 600, 10800; ended: the command failed."
    )


def test_a_chain_has_a_bar_a_phase_and_one_mark_for_checkpoints_that_touch() -> None:
    text = draw_chain([LINK], clock=_clock, span=_span)

    root = ET.fromstring(text)
    assert [one.get("class") for one in root.iter("rect")] == ["phase-waiting", "phase-running", "phase-lost"]
    assert sum(one.get("class") == "save" for one in root.iter("path")) == 2
    assert "style=" not in text
    row = next(one for one in root.iter("g"))
    assert (row.get("tabindex"), row.get("role")) == ("0", "img")


def test_markup_in_a_reason_is_text() -> None:
    link = Link(number=1, parts=LINK.parts, why="<script>alert(1)</script>\x00")

    text = draw_chain([link], clock=_clock, span=_span)

    assert "<script>" not in text
    ET.fromstring(text)
