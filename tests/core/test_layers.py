"""Layers: the later wins, and every value knows where it came from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.run import RunSpec
from windlass.core.toml.layers import (
    Flag,
    Layer,
    make_environ_layer,
    make_flags_layer,
    merge,
    read_set,
    split_key,
)
from windlass.core.toml.reading import Path, format_path
from windlass.core.toml.run_file import EXCLUSIVE, SECTIONS, read_run
from windlass.errors import UsageError


def layer(label: str, values: dict[str, object]) -> Layer:
    return Layer(label=label, values=values)


def test_the_later_layer_wins_key_by_key() -> None:
    below = layer("below", {"resources": {"nodes": 1, "cpus": 4}, "run": {"results": ["a", "b"]}})
    above = layer("above", {"resources": {"nodes": 2}, "run": {"results": ["c"]}})

    merged = merge([below, above])

    assert merged.values == {"resources": {"nodes": 2, "cpus": 4}, "run": {"results": ["c"]}}
    assert {key: origin.text for key, origin in merged.origins.items()} == {
        "resources.nodes": "above",
        "resources.cpus": "below",
        "run.results": "above",
    }


def test_layers_are_left_as_they_were() -> None:
    below: dict[str, object] = {"run": {"env": {"A": "1"}}}

    merge([layer("below", below), layer("above", {"run": {"env": {"B": "2"}}})])

    assert below == {"run": {"env": {"A": "1"}}}


def test_one_of_an_exclusive_group_takes_away_the_others_of_earlier_layers() -> None:
    file = layer("file", {"resources": {"gpus": 8}})
    flags = layer("flags", {"resources": {"gpus_per_node": 4}})

    merged = merge([file, flags], EXCLUSIVE)

    assert merged.values == {"resources": {"gpus_per_node": 4}}
    assert list(merged.origins) == ["resources.gpus_per_node"]


def test_variables_are_read_by_the_type_of_their_field() -> None:
    environ = {
        "WINDLASS_RUN_COMMAND": "python train.py",
        "WINDLASS_RUN_RESULTS": "out/**, logs/*",
        "WINDLASS_RUN_EXCLUDE": '["a,b"]',
        "WINDLASS_RUN_ENV_MixedCase": "1",
        "WINDLASS_RUN_SECRETS_KEY": "env:KEY",
        "WINDLASS_RESOURCES_GPUS_PER_NODE": "4",
        "WINDLASS_RESOURCES_EXCLUSIVE": "yes",
        "WINDLASS_RESOURCES_MEMORY": "64G",
        "WINDLASS_RESOURCES_QOS": "",
        "WINDLASS_DATA_MY_SET_SOURCE": "/data",
        "WINDLASS_CONFIG_DIR": "/elsewhere",
        "WINDLASS_RUN_ID": "digits-abcde",
        "RESOURCES_NODES": "9",
    }

    found = make_environ_layer(environ, SECTIONS, ignored=frozenset({"WINDLASS_RUN_ID"}))
    spec = read_run(found.values)

    assert isinstance(spec, RunSpec), spec
    assert spec.command == "python train.py"
    assert spec.results == ("out/**", "logs/*")
    assert spec.exclude == ("a,b",)
    assert spec.env == {"MixedCase": "1"}
    assert spec.secrets == {"KEY": "env:KEY"}
    assert spec.resources.gpus_per_node == 4
    assert spec.resources.exclusive is True
    assert spec.resources.memory_mb == 65536
    assert spec.resources.qos is None
    assert spec.data["my_set"].source == "/data"
    assert found.names[("resources", "memory")] == "WINDLASS_RESOURCES_MEMORY"


def test_a_value_from_text_is_plain_text_afterwards() -> None:
    spec = read_run(make_flags_layer([read_set("run.command=x"), read_set("run.env.A=1")]).values)

    assert isinstance(spec, RunSpec)
    assert type(spec.command) is str
    assert type(spec.env["A"]) is str


def test_flags_name_themselves() -> None:
    flags = [Flag(key="resources.nodes", value="2", option="--nodes"), read_set('data."my.set".source = /x=y')]

    merged = merge([make_flags_layer(flags)])

    assert {key: origin.text for key, origin in merged.origins.items()} == {
        "resources.nodes": "flag --nodes",
        'data."my.set".source': 'flag --set data."my.set".source',
    }
    assert merged.values["data"] == {"my.set": {"source": "/x=y"}}


@pytest.mark.parametrize("text", ["", "x", "=3", "resources.nodes=", " = "])
def test_a_set_without_key_or_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="KEY=VALUE"):
        read_set(text)


def test_a_key_of_many_parts_is_refused() -> None:
    with pytest.raises(UsageError, match="19999 dots"):
        read_set(".".join(["a"] * 20_000) + "=1")


def test_a_site_override_tells_site_and_line() -> None:
    asked: list[Path] = []

    def line_of(path: Path) -> int:
        asked.append(path)
        return 31

    values = {"resources": {"account": "def-me"}}
    found = Layer(label="site narval", values=values, file="windlass.toml", line_of=line_of, below=("site", "narval"))
    merged = merge([found])

    assert asked == []  # nobody wanted to know yet
    assert merged.origins["resources.account"].text == "site narval (windlass.toml:31)"
    assert asked == [("site", "narval", "resources", "account")]


printable = st.characters(exclude_characters='"\\', categories=["L", "N", "P"])


@given(st.lists(st.text(alphabet=st.sampled_from(" .") | printable, min_size=1, max_size=30), min_size=1))
def test_a_dotted_key_reads_back(parts: list[str]) -> None:
    path = tuple(part.strip() or "x" for part in parts)

    assert split_key(format_path(path)) == path


@given(st.text())
def test_no_key_breaks_the_flags(key: str) -> None:
    merge([layer("file", {"resources": {"nodes": 1}}), make_flags_layer([Flag(key=key, value="1")])], EXCLUSIVE)


@given(st.dictionaries(st.text().map(lambda tail: "WINDLASS_" + tail), st.text()))
def test_no_environment_breaks_the_layer(environ: dict[str, str]) -> None:
    read_run(make_environ_layer(environ, SECTIONS).values)
