"""Tables, CSV and JSON of a centre's own command about hours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.facts import Balance
from windlass.core.seen.balances import read_balances, sort_balances

TABLE = """\
Budget of user alice on 16 Nov 2026

Project     Granted    Used   Remaining
----------  ---------  -----  ---------
chessdl     65,536     1,536  64,000
other lab   100        100    0
"""
PIPES = """\
+---------+-------------------+----------+
| Account | Quota [node-hours] | Usage    |
+---------+-------------------+----------+
| sd00    | 10000             | 2500.5   |
+---------+-------------------+----------+
"""
CSV = "account,used,limit\nlab-a,10,100\nlab-b,5,50\n"
LEFT_ALONE = "Project  Core-hours left\nchessdl  1200\n"
JSON = '[{"project": "chessdl", "gpu_hours": {"x": 1}, "quota": 100, "used": "25"}]'
JSON_BY_NAME = 'loading...\n{"projects": {"chessdl": {"limit": 100.0, "consumed": 40.0}}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE, [("chessdl", 65536, 1536), ("other lab", 100, 100)]),
        (PIPES, [("sd00", 10000, 2500.5)]),
        (CSV, [("lab-a", 100, 10), ("lab-b", 50, 5)]),
        (LEFT_ALONE, [("chessdl", 1200, 0)]),
        (JSON, [("chessdl", 100, 25)]),
        (JSON_BY_NAME, [("chessdl", 100, 40)]),
    ],
)
def test_what_has_a_head_is_read(text: str, expected: list[tuple[str, float, float]]) -> None:
    found = read_balances(text, source="tool", default_unit="core-hours")

    assert [(one.account, one.limit, one.used) for one in found] == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "you have 500 hours left",
        "Project: chessdl\nUsed: 5\n",
        "account  date\nlab-a  2026\n",
        "account,used\nlab-a,10\n",  # of how much?
        "[1, 2, 3]",
        "{",
        "name  used  limit\n",
    ],
)
def test_what_cannot_be_recognised_is_not_guessed(text: str) -> None:
    assert read_balances(text, source="tool", default_unit="core-hours") == ()


def test_the_unit_is_the_one_the_head_names() -> None:
    (found,) = read_balances(PIPES, source="tool", default_unit="core-hours")

    assert found.unit == "node-hours"
    assert found.left == 7499.5


def test_what_the_site_counts_in_comes_first() -> None:
    gpu = Balance(account="lab", unit="gpu-hours", limit=1, used=0)
    core = Balance(account="lab", unit="core-hours", limit=1, used=0)
    used = Balance(account="lab", unit="core-hours", used=3)

    assert sort_balances([gpu, used, core], "core-hours") == (core, used, gpu)


_WORDS = [*TABLE.split(), "|", ",", "{", "}", '"used"', ":", "\n", "  "]


@given(st.one_of(st.text(), st.lists(st.sampled_from(_WORDS)).map(" ".join)))
def test_no_text_makes_it_raise(text: str) -> None:
    read_balances(text, source="tool", default_unit="core-hours")
