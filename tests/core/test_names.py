"""Run ids: safe everywhere, and read back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.names import SUFFIX_LENGTH, SUFFIX_LETTERS, make_run_id, make_slug, read_token
from windlass_job import wire

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
def test_every_name_gives_a_plain_id(name: str, suffix: str) -> None:
    run_id = make_run_id(name, suffix)

    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", run_id)
    assert len(run_id) <= 46


@given(st.text())
def test_a_slug_stays_what_it_is(name: str) -> None:
    assert make_slug(make_slug(name)) == make_slug(name)


@given(st.text(), suffixes, st.integers(1, 10**6), st.text(), st.text())
def test_a_token_is_found_whatever_is_written_around_it(
    name: str, suffix: str, number: int, before: str, after: str
) -> None:
    token = wire.TOKEN.format(run_id=make_run_id(name, suffix), number=number)

    assert read_token(f"{before.replace(':', '')} {token} {after}") == token


def test_other_comments_hold_no_token() -> None:
    assert [read_token(text) for text in (None, "", "windlass", "windlass:x", "# windlass: ignore=S119")] == [""] * 5
