"""Placeholders in commands: filled as one word, whatever is in it and wherever it stands."""

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.sweep.template import check_template, make_filler
from windlass.errors import UsageError


def test_placeholders_become_values_and_the_rest_stays() -> None:
    fill = make_filler("python t.py --lr {lr} --out {trial} ${HOME} {{lr}} {a,b} awk '{print $1}'")

    made = fill(7, {"lr": 1e-05})

    assert made == "python t.py --lr 1e-05 --out 7 ${HOME} {lr} {a,b} awk '{print $1}'"


@pytest.mark.parametrize("template", ["printf %s {x}", "printf %s '{x}'", 'printf %s "{x}"', 'printf %s "a\\"{x}"'])
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20))
def test_a_value_is_one_word_of_bash_in_any_quotes(template: str, value: str) -> None:
    words = shlex.split(make_filler(template)(0, {"x": value}))

    assert words[2] == ('a"' if "\\" in template else "") + value


def test_bash_reads_it_the_same_way() -> None:
    value = "a'b\"c $HOME `id` \\ {x}\r\n;"
    command = make_filler("printf %s {x}; printf %s '[{x}]'; printf %s \"[{x}]\"")(0, {"x": value})

    out = subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout

    assert out.decode() == f"{value}[{value}][{value}]"


def test_a_placeholder_without_values_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match=r"\{lrr\}") as caught:
        check_template("t.py {lrr} {lr}", ["lr"])
    assert caught.value.hint == "did you mean {lr}?"
    with pytest.raises(UsageError, match=r"\{depth\}") as caught:
        check_template("t.py {depth} {lr}", ["lr"])
    assert "{{depth}}" in str(caught.value.hint)


@pytest.mark.parametrize(("template", "where"), [("a `b {lr}`", "backticks"), ("a $'{lr}'", "…")])
def test_a_place_that_no_quotes_protect_is_refused(template: str, where: str) -> None:
    with pytest.raises(UsageError, match=where):
        check_template(template, ["lr"])


def test_values_without_a_place_are_told() -> None:
    with pytest.raises(UsageError, match="no place for depth") as caught:
        check_template("t.py {lr}", ["lr", "depth"])
    assert "--depth {depth}" in str(caught.value.hint)


def test_the_number_of_the_trial_needs_no_values() -> None:
    check_template("t.py {trial}", [])
