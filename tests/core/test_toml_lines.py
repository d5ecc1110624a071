"""The lines of keys, for every way TOML has to write them."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.toml.lines import find_lines, nearest_line
from windlass.core.toml.writing import format_string

TEXT = '''# a comment with = and [brackets]
top = "a # no comment"
many = [
  "one",  # ] not the end
  "[two]",
]
long = """
[not.a.table]
key = 1
ends in quotes"""""
raw = \'\'\'
\\ [x]
\'\'\'

[run]  # a table
command = 'python "x"'
"quoted key" = 1
dotted.inside = 2
  [run.env]
  A = "\\"]"
inline = { a = 1, b = [ "}", 2 ] }
[[list]]
z = 1
[site."a.b".resources]
nodes = 3
'''


def test_every_key_is_found_on_its_line() -> None:
    tomllib.loads(TEXT)

    lines = find_lines(TEXT)

    assert lines[("top",)] == 2
    assert lines[("many",)] == 3
    assert lines[("long",)] == 7
    assert lines[("raw",)] == 11
    assert lines[("run",)] == 15
    assert lines[("run", "command")] == 16
    assert lines[("run", "quoted key")] == 17
    assert lines[("run", "dotted", "inside")] == 18
    assert lines[("run", "env", "A")] == 20
    assert lines[("run", "env", "inline")] == 21
    assert lines[("list", "z")] == 23
    assert lines[("site", "a.b", "resources", "nodes")] == 25
    assert ("not", "a", "table") not in lines


def test_what_is_inside_a_value_is_on_the_line_of_its_key() -> None:
    lines = find_lines(TEXT)

    assert nearest_line(lines, ("many", 1)) == 3
    assert nearest_line(lines, ("run", "env", "inline", "b")) == 21
    assert nearest_line(lines, ("nowhere",)) is None


def test_windows_line_ends_count_once() -> None:
    assert find_lines("a = 1\r\n\r\nb = 2\r\n") == {("a",): 1, ("b",): 3}


@given(st.text())
def test_no_text_breaks_the_scanner(text: str) -> None:
    find_lines(text)


words = st.text(alphabet=st.characters(codec="utf-8"))


@given(st.lists(st.tuples(words, words | st.lists(words)), unique_by=lambda pair: pair[0]))
def test_keys_and_lines_agree_with_tomllib(pairs: list[tuple[str, str | list[str]]]) -> None:
    def write(value: str | list[str]) -> str:
        return format_string(value) if isinstance(value, str) else "[" + ",\n".join(map(format_string, value)) + "]"

    text = "".join(f"{format_string(key)} = {write(value)}\n" for key, value in pairs)
    lines = find_lines(text)

    assert {(key,) for key in tomllib.loads(text)} == set(lines)
    for path, line in lines.items():
        assert text.split("\n")[line - 1].startswith(format_string(str(path[0])))
