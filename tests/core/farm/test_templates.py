"""Commands with places for values, and the tables that fill them."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.farm.quoting import find_open
from windlass.core.farm.tables import make_products, read_commands, read_csv, read_json_lines, read_values
from windlass.core.farm.templates import Value, make_tasks, read_template
from windlass.errors import TasksInvalid


def fill(command: str, *values: str, adds_value: bool = False) -> list[str]:
    tasks = make_tasks(read_template(command, adds_value=adds_value), make_products([values]))
    return [one.command for one in tasks]


def test_a_value_stands_where_the_braces_are() -> None:
    assert fill("train --seed {}", "1", "2") == ["train --seed 1", "train --seed 2"]


def test_without_a_place_the_value_comes_last() -> None:
    assert fill("train", "a b", adds_value=True) == ["train 'a b'"]


def test_several_sources_give_each_with_each() -> None:
    values = make_products([["adam", "sgd"], ["1", "2"]])

    tasks = list(make_tasks(read_template("train {2} {1}"), values))

    assert [one.command for one in tasks] == ["train 1 adam", "train 2 adam", "train 1 sgd", "train 2 sgd"]
    assert tasks[0].values == {"1": "adam", "2": "1"}


def test_braces_for_bash_are_left_alone() -> None:
    assert fill("awk '{{print $1}}' ${HOME}/{}.txt {{a,b}} {a,b}", "x") == [
        "awk '{print $1}' ${HOME}/x.txt {a,b} {a,b}"
    ]


@pytest.mark.parametrize(
    "command", ["printf %s {}", "printf %s '{}'", 'printf %s "{}"', "printf %s \"$(printf '%s' {})\""]
)
@given(value=st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_value_is_one_word_whatever_is_in_it(command: str, value: str) -> None:
    (line,) = fill(command, value)

    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)

    printed = value.rstrip("\n") if "$(" in command else value
    assert done.stdout == printed.encode()


@pytest.mark.parametrize(
    ("command", "values", "words"),
    [
        ("train {lr}", ["1"], "asks for {lr}"),
        ("train {2}", ["1"], "asks for {2}"),
        ("train {#}", ["1"], "asks for {#}"),
        ("train {/}", ["1"], "asks for {/}"),
        ("train {} {2//}", ["1"], "asks for {2//}"),
        ("train {/.} {%}", ["1"], "asks for {/.}, {%}"),
        ("train `{}", ["1"], "the quote ` at column 7 is never closed"),
        ("train $'\\'{}", ["1"], "the quote $' at column 7 is never closed"),
        ("train", ["1"], "no place for a value"),
        ("train {}", [], "no value"),
        ("train '{}", ["1"], "the quote ' at column 7 is never closed"),
        (" ", ["1"], "there is no command"),
        ("train \0{}", ["1"], "zero byte"),
        ("train {}", ["a\0b"], "NUL"),
    ],
)
def test_what_cannot_be_filled_in_is_told(command: str, values: list[str], words: str) -> None:
    with pytest.raises(TasksInvalid) as told:
        fill(command, *values)

    assert words in str(told.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"true\n\nfalse\n", "tasks.txt:2: there is no command"),
        (b"true\n# a comment\n", "tasks.txt:2: there is no command"),
        (b"true\necho 'it\n", "tasks.txt:2: the quote ' at column 6 is never closed"),
        (b"true\necho a\\\n", "tasks.txt:2: it ends with a backslash"),
        (b"true\n-x\n", "tasks.txt:2: it begins with '-'"),
        (b"true\necho a\0b\n", "tasks.txt:2: it holds a zero byte"),
        (b"true\necho \xff\n", "tasks.txt:2: this is no UTF-8"),
    ],
)
def test_a_line_that_is_no_command_is_told_with_its_number(data: bytes, words: str) -> None:
    with pytest.raises(TasksInvalid) as told:
        list(read_commands(data, "tasks.txt"))

    assert words in str(told.value)


def test_commands_of_any_language_and_line_end_are_taken_as_they_are() -> None:
    data = "\ufeffecho 'größe 日本'\r\necho \"it's\" # don't\r\n\r\n".encode()

    assert [one.command for one in read_commands(data, "x")] == ["echo 'größe 日本'", "echo \"it's\" # don't"]


@pytest.mark.parametrize(
    "line", ['echo "$(echo \'it"s\')"', "echo a\\'b", 'echo "a\\"b"', "x=$(echo ')')", "echo $'it\\'s'", "x=$$'a\\'"]
)
def test_quotes_within_quotes_are_no_problem(line: str) -> None:
    assert subprocess.run(["bash", "-n", "-c", line], check=False).returncode == 0
    assert find_open(line) is None


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("echo hi # trial {}", "a comment"),
        ("echo hi # trial", "a comment"),
        ("cat <<EOF\n{}\nEOF", "a here-document"),
        ("python3 - <<-'E'\nit's {}\nE", "a here-document"),
        ("echo `echo {}`", "backticks"),
        ("echo \"`echo '{}'`\"", "backticks"),
        ("echo $'it\\'s {}'", "$'…'"),
    ],
)
def test_a_value_is_never_put_where_no_quotes_help(command: str, where: str) -> None:
    with pytest.raises(TasksInvalid) as told:
        fill(command, "$(touch bad)", adds_value=True)

    assert f"{{}} stands in {where}" in str(told.value)


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("# a comment, don't mind\necho {}", "$(x)"),
        ("cat <<< {}", "$(x)"),
        ("echo $((1 << 2)) {}", "4 $(x)"),
        ("echo a#{}", "a#$(x)"),
        ("echo '#' {}", "# $(x)"),
        ("echo $'it\\'s' {}", "it's $(x)"),
        ('echo `echo "it\'s"` {}', "it's $(x)"),
        ("echo \"a`echo b`\" '{}'", "ab $(x)"),
        ("echo '`' {}", "` $(x)"),
        ("echo {{/}} {}", "{/} $(x)"),
    ],
)
def test_what_only_looks_like_a_comment_or_a_document_is_none(command: str, printed: str) -> None:
    (made,) = fill(command, "$(x)")

    assert subprocess.run(["bash", "-c", made], capture_output=True, text=True, check=True).stdout == f"{printed}\n"


def test_columns_of_lines_are_separated_by_tabs() -> None:
    values = read_values(b"1\tadam\n2\tsgd\n", "x")

    assert [one.command for one in make_tasks(read_template("t {2} {1}"), values)] == ["t adam 1", "t sgd 2"]


def test_a_table_names_its_columns() -> None:
    values = read_csv(b'lr,note\n0.1,"a, b"\n', "x.csv")

    (task,) = make_tasks(read_template("train --lr {lr} --note {note} {1}"), values)

    assert task.command == "train --lr 0.1 --note 'a, b' 0.1"
    assert task.values == {"lr": "0.1", "note": "a, b"}


def test_json_lines_keep_numbers_as_they_are_written() -> None:
    values = read_json_lines(b'{"lr": 1e-05, "deep": true, "n": null}\n{"lr": 10, "deep": false, "n": "x"}\n', "x")

    assert [one.command for one in make_tasks(read_template("t {lr} {deep} {n}"), values)] == [
        "t 1e-05 true ''",
        "t 10 false x",
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a,b\n1\n", "x.csv:2: 1 columns; the first line has 2"),
        (b"a,a\n1,2\n", "names that differ"),
        (b"a,\n1,2\n", "names that differ"),
        (b"", "it is empty"),
        (b'a\n"x\n', "x.csv:2"),
    ],
)
def test_a_broken_table_is_told_with_its_line(data: bytes, words: str) -> None:
    with pytest.raises(TasksInvalid) as told:
        list(read_csv(data, "x.csv"))

    assert words in str(told.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{}\n", "x:1: no object"),
        (b'{"a": 1}\n[1]\n', "x:2: no object"),
        (b'{"a": [1]}\n', "is no text and no number"),
        (b'{"a": 1}\n{"b": 1}\n', "x:2: it has b; the first line has a"),
        (b'{"a": 1\n', "x:1:"),
    ],
)
def test_broken_json_is_told_with_its_line(data: bytes, words: str) -> None:
    with pytest.raises(TasksInvalid) as told:
        list(read_json_lines(data, "x"))

    assert words in str(told.value)


def test_an_empty_table_has_no_tasks() -> None:
    with pytest.raises(TasksInvalid):
        list(make_tasks(read_template("t {a}"), read_csv(b"a\n", "x")))


def test_a_blank_line_of_a_table_is_no_task() -> None:
    assert [one.columns for one in read_csv(b"a,b\r1,2\r3,4\r", "x")] == [("1", "2"), ("3", "4")]
    assert [one.columns for one in read_csv(b"a,b\n1,2\n\n3,4\n\n", "x")] == [("1", "2"), ("3", "4")]


def test_a_row_that_lacks_a_column_is_told() -> None:
    values = [Value(whole="a b", columns=("a", "b")), Value(whole="a", columns=("a",))]

    with pytest.raises(TasksInvalid, match=r"row 2 has no column \{2\}"):
        list(make_tasks(read_template("t {2}"), values))
