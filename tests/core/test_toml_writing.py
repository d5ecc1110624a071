"""What is written as TOML reads back as it was."""

import math
import tomllib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.ending.symptoms import set_to
from windlass.core.toml.writing import format_key, format_string, format_value
from windlass.core.units import read_duration

texts = st.text(st.characters(exclude_categories=["Cs"]))


def read_back(written: str) -> object:
    return tomllib.loads(f"a = {written}")["a"]


@given(st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.lists(texts)))
def test_a_value_reads_back(value: str | bool | float | list[str]) -> None:
    found = read_back(format_value(value))

    assert found == value
    assert isinstance(found, bool) is isinstance(value, bool)


def test_no_number_at_all_reads_back() -> None:
    assert math.isnan(float(str(read_back(format_value(math.nan)))))


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)))
def test_a_duration_reads_back_in_whole_seconds(duration: timedelta) -> None:
    found = read_duration(str(read_back(format_value(duration))))

    assert timedelta(0) <= found - duration < timedelta(seconds=1)


@given(st.lists(texts, min_size=1, max_size=4))
def test_a_key_reads_back(path: list[str]) -> None:
    found: object = tomllib.loads(f"{format_key(path)} = 1")
    for part in path:
        assert isinstance(found, dict)
        found = found[part]

    assert found == 1


@given(st.text())
def test_a_string_stays_on_one_line_of_a_terminal(text: str) -> None:
    assert format_string(text).isprintable()


@pytest.mark.parametrize(
    ("value", "written"),
    [(True, "true"), (512.0, "512"), (0.1, "0.1"), (timedelta(hours=36), '"1d12h"'), ('a"\n', r'"a\"\n"'), ((), "[]")],
)
def test_people_can_read_it(value: bool | float | timedelta | str | tuple[str, ...], written: str) -> None:
    assert format_value(value) == written


def test_only_keys_that_need_quotes_get_them() -> None:
    assert format_key(("run", "env", "A.B", "")) == 'run.env."A.B".""'


@given(texts)
def test_a_setting_of_a_diagnosis_is_toml(text: str) -> None:
    assert read_back(set_to("run.name", text).value) == text
    assert set_to("resources.exclusive", True).value == "true"
