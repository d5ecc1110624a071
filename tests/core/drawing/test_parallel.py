"""Parallel coordinates: where values lie, and that whatever stands in them is only text."""

import xml.etree.ElementTree

import pytest

from windlass.core.drawing.parallel import Strand, draw_parallel, make_upright, place


def test_values_lie_between_the_ends_of_their_axis() -> None:
    straight, log = make_upright("x", [0.0, 5.0, 10.0]), make_upright("lr", [1e-4, 1.0], is_log=True)

    assert [place(straight, one) for one in (0, 5, 10)] == [0.0, 0.5, 1.0]
    assert place(log, 1e-2) == pytest.approx(0.5)
    assert place(log, 0) is None
    assert place(straight, float("nan")) is None


def test_lists_and_words_have_a_place_each_in_their_order() -> None:
    axis = make_upright("depth", [8, 2, 4, 2], is_list=True)
    words = make_upright("kind", [True, "b", "a"])

    assert axis.words == ("2", "4", "8")
    assert [place(axis, one) for one in (2, 8)] == [pytest.approx(1 / 6), pytest.approx(5 / 6)]
    assert words.words == ("a", "b", "true")
    assert place(words, "c") is None


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0], [0.9e-3, 1.1e-3], [1e-30, 1e30]])
def test_any_axis_can_be_drawn(values: list[float]) -> None:
    for is_log in (False, True):
        axis = make_upright("</text><script>", values, is_log=is_log)
        strand = Strand(name='"&<', places=(place(axis, values[0]),), warmth=1.0, is_best=True)

        drawn = draw_parallel("<t>", "s", [axis], [strand])

        assert "script" not in {one.tag.rpartition("}")[2] for one in xml.etree.ElementTree.fromstring(drawn).iter()}
