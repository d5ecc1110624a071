"""Plans, records and facts survive the way to the site and back."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import PLAN, RECORD
from windlass.core.codec import from_json, to_json
from windlass.core.facts import Facts
from windlass.core.plan import Plan
from windlass.core.record import RunRecord
from windlass.errors import RunFolderGone, WindlassError

T = TypeVar("T")

# What a file can carry: no lone surrogates, no NaN.
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    float: st.floats(allow_nan=False, allow_infinity=False),
    int: st.integers(-(2**63), 2**63 - 1),
}


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    """Every value that the annotations allow."""
    parts = get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        return st.builds(kind, **{name: any_of(hint) for name, hint in get_type_hints(kind).items()})
    if get_origin(kind) is tuple and parts[-1] is not ...:
        return st.tuples(*map(any_of, parts))
    if get_origin(kind) is tuple:
        return st.lists(any_of(parts[0]), max_size=3).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(any_of(parts[0]), any_of(parts[1]), max_size=3)
    return st.one_of(*map(any_of, parts)) if parts else st.from_type(kind)


def read(text: bytes, kind: type[T]) -> T:
    return from_json(text, kind, error=WindlassError, what="the file")


@given(any_of(Plan))
def test_a_plan_comes_back(plan: Plan) -> None:
    assert read(to_json(plan), Plan) == plan


@given(any_of(RunRecord))
def test_a_record_comes_back(record: RunRecord) -> None:
    assert read(to_json(record), RunRecord) == record


@given(any_of(Facts))
def test_facts_come_back(facts: Facts) -> None:
    assert read(to_json(facts), Facts) == facts


def test_the_same_value_gives_the_same_bytes_for_people_to_read() -> None:
    assert to_json(PLAN) == to_json(PLAN)
    assert to_json(PLAN).startswith(b'{\n  "run_id": "digits-k3f9w",\n')
    assert to_json(PLAN).endswith(b"}\n")


def test_a_mapping_that_cannot_be_changed_is_written_like_any() -> None:
    frozen = MappingProxyType({"A": "1"})

    assert to_json(frozen) == b'{\n  "A": "1"\n}\n'


def test_what_has_no_json_form_is_a_mistake_of_ours() -> None:
    with pytest.raises(NotImplementedError, match="object"):
        to_json(object())


def test_a_file_of_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    text = to_json(RECORD).replace(b"{", b'{"from_the_future": [1, {}],', 1)

    assert read(text, RunRecord) == RECORD


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"[]", b"null", b'{"run_id": 1}', b"\xff\xfe", b'{"run_id": "\xff"}'),
        *(b"[" * 100_000, b'{"from_the_future":' + b"[" * 100_000),
    ],
    ids=lambda text: repr(text[:30]),
)
def test_a_damaged_file_is_told_with_its_name(text: bytes) -> None:
    with pytest.raises(RunFolderGone, match=r"plan\.json cannot be read"):
        from_json(text, Plan, error=RunFolderGone, what="plan.json")


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    with pytest.raises(WindlassError):
        read(text, Plan)
