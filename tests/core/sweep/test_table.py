"""Trials from CSV and JSON lines, and what is wrong with them, by line."""

import pytest

from windlass.core.sweep.table import read_table
from windlass.errors import UsageError


def test_csv_and_json_lines_give_the_same_trials() -> None:
    rows = [{"lr": 0.1, "name": "a,b"}, {"lr": 2, "name": "ü"}]

    assert read_table('lr,name\n0.1,"a,b"\n\n2,ü\n'.encode(), "t.csv") == rows
    assert read_table(b'\xef\xbb\xbflr, name\r\n0.1,"a,b"\r\n2,\xc3\xbc\r\n', "t.csv") == rows
    assert read_table('{"lr":0.1,"name":"a,b"}\n{"name":"ü","lr":2}\n'.encode(), "t.jsonl") == rows


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "t.csv", "no trials"),
        (b"a,b\n1\n", "t.csv", "t.csv:2: 1 values for 2 names"),
        (b"a,a\n1,2\n", "t.csv", "twice"),
        (b'a\n"1\n', "t.csv", "t.csv:2"),
        (b"a\n\xff\n", "t.csv", "t.csv:2: this is no UTF-8"),
        (b"a-b\n1\n", "t.csv", "no name"),
        (b'{"a": 1}\n{"b": 1}\n', "t.jsonl", "t.jsonl:2: other names"),
        (b'{"a": 1}\n{"a": [1]}\n', "t.jsonl", "t.jsonl:2: a is no single value"),
        (b'{"a": 1}\n{"a"\n', "t.jsonl", "t.jsonl:2: this is no JSON"),
        (b"[1]\n", "t.jsonl", "t.jsonl:1: this is no object"),
    ],
)
def test_a_damaged_table_is_told_by_its_line(content: bytes, name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_table(content, name)
