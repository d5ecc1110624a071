"""Run ids: safe everywhere, and read back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.names import SUFFIX_LENGTH, SUFFIX_LETTERS, is_run_id, make_run_id, make_slug

suffixes = st.text(SUFFIX_LETTERS, min_size=SUFFIX_LENGTH, max_size=SUFFIX_LENGTH)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("digits", "digits"),
        ("My Training, v2!", "my-training-v2"),
        ("Größe", "groe"),
        ("Äpfel", "apfel"),
        ("漢字", "run"),
        ("", "run"),
        ("--x--", "x"),
        ("a/../b", "a-b"),
        ("$(id)\n", "id"),
        ("x" * 39 + "-y", "x" * 39),
        ("ＦＵＬＬ", "full"),
    ],
)
def test_a_name_becomes_plain(name: str, slug: str) -> None:
    assert make_slug(name) == slug


@given(st.text(), suffixes)
def test_every_name_gives_an_id_that_is_known_again(name: str, suffix: str) -> None:
    run_id = make_run_id(name, suffix)

    assert is_run_id(run_id)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", run_id)
    assert len(run_id) <= 46


@given(st.text())
def test_a_slug_stays_what_it_is(name: str) -> None:
    assert make_slug(make_slug(name)) == make_slug(name)


@pytest.mark.parametrize(
    "text",
    ["", "digits", "digits-abc", "digits-abcdef", "-abcde", "Digits-abcde", "a b-abcde", "../x-abcde", "x-abcde\n"],
)
def test_other_texts_are_no_ids(text: str) -> None:
    assert not is_run_id(text)
