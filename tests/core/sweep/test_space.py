"""What `lr=log:1e-5..1e-1` means, and what is said of what means nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.sweep.space import Dimension, Kind, format_dimension, make_choices, read_dimension, read_dimensions
from windlass.core.sweep.values import Value, format_value, read_value
from windlass.errors import UsageError


def test_choices_are_numbers_truths_and_words() -> None:
    assert read_dimension("x", "2, 4,8").choices == (2, 4, 8)
    assert read_dimension("x", "0.5,1e-3").choices == (0.5, 0.001)
    assert read_dimension("x", "true,false").choices == (True, False)
    assert read_dimension("x", 'adam,sgd,"a,b"').choices == ("adam", "sgd", "a,b")
    assert read_dimension("x", "nan,1_000").choices == ("nan", "1_000")


def test_ranges_are_floats_unless_they_say_int() -> None:
    assert read_dimension("x", "0..1") == Dimension(name="x", kind=Kind.FLOAT, low=0, high=1)
    assert read_dimension("x", "-1.5..2.5") == Dimension(name="x", kind=Kind.FLOAT, low=-1.5, high=2.5)
    assert read_dimension("x", "log:1e-5..1e-1") == Dimension(
        name="x", kind=Kind.FLOAT, low=1e-5, high=0.1, is_log=True
    )
    assert read_dimension("n", "int:1..100") == Dimension(name="n", kind=Kind.INT, low=1, high=100)
    assert read_dimension("n", "log int:1..4096").is_log
    assert read_dimension("n", "0.1..0.9/5").points == 5


@pytest.mark.parametrize(
    ("written", "words", "hint"),
    [
        ("1..0", "empty range", "x=0..1"),
        ("1..1", "empty range", "x=1"),
        ("log:0..1", "the logarithm of 0.0 does not exist", "x=log:1e-5..1.0"),
        ("log int:0..8", "the logarithm of 0 does not exist", "x=log int:1..8"),
        ("lag:1..2", "no range", "log:1e-5..1e-1"),
        ("int:1..2.5", "no whole number", "x=0..1"),
        ("a..b", "no number", "x=0..1"),
        ("0..inf", "no number", "x=0..1"),
        ("0..1/1", "no number of points", "/5"),
        ("", "no values", "depth=2,4,8"),
        ("1,,2", "empty value", "depth=2,4,8"),
        ("1,1", "twice", "keep one"),
        ('"a,b', "cannot be split", '"a,b"'),
    ],
)
def test_what_means_nothing_is_told_with_what_to_write(written: str, words: str, hint: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        read_dimension("x", written)

    assert hint in str(caught.value.hint)


def test_names_are_identifiers_given_once_and_not_trial() -> None:
    for texts, words in ((["a-b=1"], "no name"), (["trial=1"], "number of the trial"), (["lr"], "NAME=VALUES")):
        with pytest.raises(UsageError, match=words):
            read_dimensions(texts)
    with pytest.raises(UsageError, match="twice"):
        read_dimensions(["a=1", "a=2"])


_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Zs")), min_size=1, max_size=20)
_VALUES = st.one_of(
    st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False), _WORDS
)


@given(st.one_of(st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_value_is_read_as_it_was_written(value: Value) -> None:
    read = read_value(format_value(value))

    assert (type(read), read) == (type(value), value)


@given(st.lists(_VALUES, min_size=1, max_size=8, unique_by=lambda one: (type(one), one)))
def test_choices_are_read_as_they_were_written(values: list[Value]) -> None:
    values = list(dict.fromkeys(read_value(format_value(one)) for one in values))
    dimension = make_choices("x", values)

    assert read_dimension("x", format_dimension(dimension)) == dimension


@given(st.floats(1e-9, 1e9), st.floats(1.001, 1e6), st.booleans(), st.one_of(st.none(), st.integers(2, 50)))
def test_ranges_are_read_as_they_were_written(low: float, factor: float, is_log: bool, points: int | None) -> None:
    dimension = Dimension(name="x", kind=Kind.FLOAT, low=low, high=low * factor, is_log=is_log, points=points)

    assert read_dimension("x", format_dimension(dimension)) == dimension
