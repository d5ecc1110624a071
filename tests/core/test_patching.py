"""Settings in the text of a windlass.toml."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.finding import Setting
from windlass.core.toml.patching import apply_settings, drop_lower, format_settings

FILE = """\
# my training
[run]
command = "python train.py"  # what starts it
env = { LR = "0.1" }

[resources]
memory = "64G"  # for each node
modules_note = 'x'
time = "3h"

# the end
[checkpoint]
notice = "2m"
"""


def put(text: str, *pairs: tuple[str, str], site: str | None = None) -> str | None:
    return apply_settings(text, [Setting(key=key, value=value) for key, value in pairs], site=site)


def test_a_value_is_changed_where_it_stands_and_its_comment_stays() -> None:
    assert put(FILE, ("resources.memory", '"96G"')) == FILE.replace('"64G"', '"96G"')


def test_a_key_is_added_to_its_table() -> None:
    assert put(FILE, ("resources.cpus", "11")) == FILE.replace('time = "3h"\n', 'time = "3h"\ncpus = 11\n')


def test_a_key_is_added_to_an_inline_table() -> None:
    assert put(FILE, ("run.env.HF_HUB_OFFLINE", '"1"')) == FILE.replace(
        '{ LR = "0.1" }', '{ LR = "0.1", HF_HUB_OFFLINE = "1" }'
    )


def test_a_table_that_is_missing_is_added_at_the_end() -> None:
    text = '[run]\ncommand = "x"\n'

    assert put(text, ("run.env.A", '"1"'), ("run.env.B", '"2"')) == text + '\n[run.env]\nA = "1"\nB = "2"\n'


def test_a_value_that_the_site_overrides_is_changed_there() -> None:
    text = FILE + '\n[site.alpha.resources]\nmemory = "32G"\n'

    assert put(text, ("resources.memory", '"96G"'), site="alpha") == text.replace('"32G"', '"96G"')
    assert put(text, ("resources.memory", '"96G"'), site="beta") == text.replace('"64G"', '"96G"')


def test_a_value_of_several_lines_goes_before_the_new_key() -> None:
    text = '[environment]\nmodules = [\n  "a",\n  "b",\n]\n[run]\ncommand = "x"\n'

    assert put(text, ("environment.activate", '"y"')) == text.replace("]\n[run]", ']\nactivate = "y"\n[run]')


def test_what_cannot_be_changed_line_by_line_is_left_alone() -> None:
    assert put('[resources]\nmemory = """\n64G"""\n', ("resources.memory", '"96G"')) is None
    assert put("[resources\n", ("resources.memory", '"96G"')) is None


def test_a_file_with_windows_line_ends_keeps_them() -> None:
    text = '[resources]\r\nmemory = "1G"\r\n'

    assert put(text, ("resources.memory", '"2G"')) == text.replace("1G", "2G")


def test_lines_to_paste() -> None:
    settings = [Setting(key="run.env.A", value='"1"'), Setting(key="resources.cpus", value="3")]

    assert format_settings(settings) == ["[run.env]", 'A = "1"', "[resources]", "cpus = 3"]


TABLES = st.dictionaries(
    st.sampled_from(["run", "resources", "checkpoint"]),
    st.dictionaries(st.sampled_from(["a", "b", "c-d"]), st.integers() | st.booleans(), max_size=3),
    max_size=3,
)


@given(TABLES, st.sampled_from(["run.a", "resources.b", "run.env.X", "checkpoint.c-d"]), st.integers(0, 99))
def test_nothing_else_is_changed(tables: dict[str, dict[str, int]], key: str, value: int) -> None:
    text = "".join(
        f"# about {name}\n[{name}]\n" + "".join(f"{one} = {str(it).lower()} # c\n" for one, it in inside.items())
        for name, inside in tables.items()
    )

    changed = put(text, (key, str(value)))

    assert changed is not None
    before, after = tomllib.loads(text), tomllib.loads(changed)
    *table, last = key.split(".")
    inside = after
    for part in table:
        inside = inside[part]
    assert inside.pop(last) == value
    assert changed.count("#") == text.count("#")
    assert {name: it for name, it in before.items() if name != table[0]} == {
        name: it for name, it in after.items() if name != table[0]
    }


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", '[run]\ncommand = "x"'])
def test_any_end_of_a_file(text: str) -> None:
    changed = put(text, ("resources.cpus", "4"))

    assert changed is not None
    assert tomllib.loads(changed)["resources"] == {"cpus": 4}
    assert changed.startswith(text)


@pytest.mark.parametrize(
    ("key", "value"), [("resources.memory", '"96G"'), ("resources.cpus", "4"), ("run.env.B", '"1"'), ("new.key", "1")]
)
def test_line_ends_stay_as_the_file_has_them(key: str, value: str) -> None:
    for text in (FILE, FILE.rstrip("\n")):
        of_windows = put(text.replace("\n", "\r\n"), (key, value))

        assert of_windows == (put(text, (key, value)) or "").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("key", "value", "is_kept"),
    [
        ("resources.memory", '"24105M"', False),
        ("resources.memory", '"64G"', True),
        ("resources.memory", '"65G"', True),
        ("resources.time", '"2h"', False),
        ("resources.time", '"4h"', True),
        ("checkpoint.notice", '"90s"', False),
        ("resources.cpus", "1", True),
        ("resources.link_time", '"1h"', True),
    ],
)
def test_what_asks_for_less_than_the_file_is_dropped(key: str, value: str, is_kept: bool) -> None:
    setting = Setting(key=key, value=value)

    assert drop_lower(FILE, (setting,)) == ((setting,) if is_kept else ())


def test_the_amount_of_the_site_counts() -> None:
    text = FILE + '[site.alpha.resources]\nmemory = "900G"\n'
    setting = Setting(key="resources.memory", value='"100G"')

    assert drop_lower(text, (setting,), site="alpha") == ()
    assert drop_lower(text, (setting,), site="beta") == (setting,)
    assert drop_lower('[resources]\nmemory = "much"\n', (setting,)) == (setting,)
