"""Tracebacks in logs of one and of many ranks."""

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.ending.tracebacks import find_tracebacks

HEAD = "Traceback (most recent call last):"


def exceptions(text: str, *, has_many_ranks: bool = True) -> list[str]:
    return [one.exception for one in find_tracebacks(text, has_many_ranks=has_many_ranks)]


def test_what_failed_because_of_another_comes_last() -> None:
    text = f"{HEAD}\n  a\nerrors.ChildFailedError: \n====\n{HEAD}\n  b\nKeyError: 1"

    assert exceptions(text) == ["KeyError: 1", "errors.ChildFailedError: "]


def test_marks_of_ranks() -> None:
    for mark in ("[rank{}]: ", "[default{}]:", "{}: "):
        text = "".join(
            f"{mark.format(rank)}{line}\n" for rank in (3, 0) for line in (HEAD, "  File", f"ValueError: {rank}")
        )

        assert [one.rank for one in find_tracebacks(text, has_many_ranks=True)] == ["3", "0"]


def test_without_marks_the_first_of_many_ranks_counts() -> None:
    text = f"{HEAD}\n  a\nKeyError: 1\n{HEAD}\n  b\nValueError: 2\n"

    assert exceptions(text)[0] == "KeyError: 1"
    assert exceptions(text, has_many_ranks=False)[0] == "ValueError: 2"


@given(st.lists(st.sampled_from([HEAD, "  a", "KeyError: 1", "", "During handling of the above exception, x", "word"])))
def test_any_mixture_is_read(lines: list[str]) -> None:
    found = find_tracebacks("\n".join(lines), has_many_ranks=True)

    assert len(found) <= lines.count(HEAD)
    assert all(one.lines and one.exception is not None for one in found)
