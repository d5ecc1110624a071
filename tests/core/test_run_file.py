"""windlass.toml read into a RunSpec: every key, every refusal, and nothing that breaks the reader."""

import dataclasses
import tomllib
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.run import Budget, Checkpoint, Data, Environment, Farm, Prefetch, Resources, RunSpec, Staging
from windlass.core.sweep.wish import Sweep
from windlass.core.toml.reading import FromText, Problem, Shape, Table
from windlass.core.toml.run_file import (
    BUDGET,
    CHECKPOINT,
    DATA,
    ENVIRONMENT,
    FARM,
    PREFETCH,
    RESOURCES,
    RUN,
    SECTIONS,
    SWEEP,
    find_problems,
    make_defaults,
    read_run,
)

WHOLE = """
[run]
name = "digits"
command = "python train.py --epochs 90"
workdir = "src"
site = "narval"
launcher = "torchrun"
include = ["*.yaml"]
exclude = ["data/**"]
max_mb = 50
max_files = 100
results = ["out/**"]
[run.env]
OMP_NUM_THREADS = 4
EMPTY = ""
LINES = "a\\nb"
[run.secrets]
WANDB_API_KEY = "env:WANDB_API_KEY"
HF_TOKEN = "file:~/.hf"
OTHER = "command:pass show other"
[resources]
nodes = 2
gpus_per_node = 4
gpu = "a100"
cpus = 12
memory = "64G"
time = "3d"
link_time = "12:00:00"
exclusive = true
constraint = "[rack1|rack2]&ib"
reservation = "course"
account = "def-me"
partition = "gpu,gpu_long"
qos = "regular"
[environment]
modules = ["Stages/2024", "PyTorch"]
purge_modules = true
venv = "requirements.txt"
activate = "source ~/env.sh"
[data.imagenet]
source = "$SCRATCH/imagenet.tar"
stage = "node"
[checkpoint]
folder = "checkpoints"
signal = "SIGUSR1"
notice = "5m"
max_links = 10
"""


def read(text: str) -> RunSpec:
    spec = read_run(tomllib.loads(text))
    assert isinstance(spec, RunSpec), spec
    return spec


def problems(text: str) -> list[str]:
    found = read_run(tomllib.loads(text))
    assert not isinstance(found, RunSpec)
    return [f"{one.key}: {one.message}" for one in found]


def test_every_key_is_read() -> None:
    spec = read(WHOLE)

    assert spec.resources == Resources(
        nodes=2,
        gpus_per_node=4,
        gpu="a100",
        cpus=12,
        memory_mb=65536,
        time=timedelta(days=3),
        link_time=timedelta(hours=12),
        exclusive=True,
        constraint="[rack1|rack2]&ib",
        reservation="course",
        account="def-me",
        partition="gpu,gpu_long",
        qos="regular",
    )
    assert spec.env == {"OMP_NUM_THREADS": "4", "EMPTY": "", "LINES": "a\nb"}
    assert spec.secrets["OTHER"] == "command:pass show other"
    assert spec.data == {"imagenet": Data(source="$SCRATCH/imagenet.tar", stage=Staging.NODE)}
    assert spec.checkpoint == Checkpoint(folder="checkpoints", signal="USR1", notice=timedelta(minutes=5), max_links=10)
    assert spec.environment.modules == ("Stages/2024", "PyTorch")
    assert (spec.workdir, spec.site, spec.max_mb, spec.results) == ("src", "narval", 50, ("out/**",))


@pytest.mark.parametrize(
    ("shapes", "kind", "apart"),
    [
        (RUN, RunSpec, {"resources", "environment", "data", "checkpoint", "prefetch", "sweep", "budget", "farm"}),
        (RESOURCES, Resources, set()),
        (ENVIRONMENT, Environment, set()),
        (DATA, Data, set()),
        (CHECKPOINT, Checkpoint, set()),
        (PREFETCH, Prefetch, set()),
        (SWEEP, Sweep, set()),
        (BUDGET, Budget, set()),
        (FARM, Farm, set()),
    ],
)
def test_every_field_has_a_key(shapes: dict[str, Shape], kind: type, apart: set[str]) -> None:
    fields = {one.name for one in dataclasses.fields(kind)} - apart

    assert {shape.into or key for key, shape in shapes.items()} == fields


def test_the_defaults_are_those_of_an_empty_file() -> None:
    values = make_defaults()
    empty = read('[run]\ncommand = "x"')

    spec = read_run({**values, "run": {**values["run"], "command": "x"}})  # type: ignore[dict-item]  # a table

    assert spec == empty
    assert values["checkpoint"] == {"signal": "TERM"}


def test_all_problems_are_told_at_once() -> None:
    found = problems('[run]\ncomand = "x"\n[resources]\ngpuz = 1\nnodes = 0\n[chekpoint]\n')

    assert found == [
        'run.comand: unknown key; did you mean "command"?',
        'resources.gpuz: unknown key; did you mean "gpus"?',
        "resources.nodes: must be at least 1",
        'chekpoint: unknown key; did you mean "checkpoint"?',
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("nodes = true", "whole number"),
        ("nodes = 1.5", "whole number"),
        ("nodes = -1", "at least 1"),
        ("nodes = 0", "at least 1"),
        ("nodes = 100_000_000", "at most"),
        ("nodes = 0x" + "f" * 5000, "at most"),
        ("gpus = -1", "at least 0"),
        ('gpus = "four"', "whole number"),
        ("gpus = 2\ngpus_per_node = 2", "cannot go together with resources.gpus"),
        ('account = ""', "empty"),
        ('account = "  "', "empty"),
        ("account = 12", "text in quotes"),
        ('time = "90"', "no unit"),
        ("time = 90", "no unit"),
        ("time = 12:00:00", 'put it in quotes: "12:00:00"'),
        ("time = 2024-01-01", "expected a duration"),
        ('time = "0s"', "between"),
        ('time = "2000d"', "between"),
        ("time = true", "expected a duration"),
        ('time = "1m"\n[checkpoint]\nnotice = "1m"', "leaves no time to train: the job has 1m in all; shorten it"),
        ('time = "1h"\nlink_time = "2h"', "longer than the whole training"),
        ("memory = 64", '"64M" or "64G"'),
        ('memory = "0G"', "more than nothing"),
        ('memory = "much"', "64G"),
        ('exclusive = "yes"', "true or false"),
        ("account = [1]", "text in quotes"),
        ("account = {a = 1}", "text in quotes"),
    ],
)
def test_a_wrong_resource_is_refused_in_words(written: str, words: str) -> None:
    (found,) = problems(f'[run]\ncommand = "x"\n[resources]\n{written}')

    assert words in found


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('done_pattern = "done ("', "is no regular expression: missing ), unterminated subpattern"),
        ('done_pattern = "x*"', "fits an empty line too"),
        ('done_pattern = ""', "empty"),
        ('done_file = "../final.pt"', "cannot lead out of its folder"),
        ('done_file = "/scratch/final.pt"', "must be relative"),
        ('chain = "arrays"', 'did you mean "array"'),
    ],
)
def test_a_wrong_checkpoint_is_refused_in_words(written: str, words: str) -> None:
    (found,) = problems(f'[run]\ncommand = "x"\n[checkpoint]\n{written}')

    assert words in found


@pytest.mark.parametrize("key", ["account", "partition", "qos", "constraint", "reservation", "gpu"])
@pytest.mark.parametrize(
    "value",
    [
        "a\nb",
        "a\n#SBATCH --uid=0",
        "a\rb",
        "a\0b",
        "a\x1b[31m",
        "a\u2028b",
        "a\x85b",
        "a b",
        "$(id)",
        "`id`",
        '"',
        "-a",
        "",
    ],
)
def test_what_reaches_a_directive_is_one_harmless_word(key: str, value: str) -> None:
    found = read_run({"run": {"command": "x"}, "resources": {key: value}})

    assert not isinstance(found, RunSpec)
    assert [one.key for one in found] == [f"resources.{key}"]
    assert found[0].value is not None
    assert found[0].value.isprintable()


@pytest.mark.parametrize("name", ["a\nb", "a\x1bb", "a\u2029b", "a\0", "", "x" * 101, "\udcff"])
def test_a_name_stays_on_one_line(name: str) -> None:
    assert not isinstance(read_run({"run": {"command": "x", "name": name}}), RunSpec)


def test_a_command_may_have_lines_and_anything_a_shell_reads() -> None:
    command = "cd src\npython train.py \"$(date)\" `hostname` 'ü' && echo $HOME"

    assert read_run({"run": {"command": command}}) == RunSpec(name="run", command=command)


@pytest.mark.parametrize("name", ["1A", "A-B", "", "A B", "A=B", "Ä", "A\nB", "$(id)"])
def test_a_variable_needs_a_name_the_shell_takes(name: str) -> None:
    found = read_run({"run": {"command": "x", "env": {name: "1"}}})

    assert not isinstance(found, RunSpec)
    assert "no name for a variable" in found[0].message


def test_a_variable_of_windlass_itself_is_refused() -> None:
    (found,) = problems('[run]\ncommand = "x"\n[run.env]\nWINDLASS_RUN_DIR = "/"')

    assert "Windlass sets itself" in found


@pytest.mark.parametrize("value", ["hunter2", "", "env:", "env:A B", "file:", "ENV:X", "env:$(id)", "command:a\nb", 7])
def test_a_secret_is_told_by_place_and_never_shown(value: object) -> None:
    found = read_run({"run": {"command": "x", "secrets": {"KEY": value}}})

    assert not isinstance(found, RunSpec)
    (problem,) = found
    assert problem.value is None
    assert "hunter2" not in problem.message


def test_a_variable_cannot_be_a_secret_too() -> None:
    (found,) = problems('[run]\ncommand = "x"\nenv = {A = "1"}\nsecrets = {A = "env:A"}')

    assert found == "run.env.A: is in [run.secrets] too; keep one of them"


@pytest.mark.parametrize("path", ["/etc", "../x", "a/../../b", "~/x"])
def test_the_working_folder_stays_in_the_project(path: str) -> None:
    assert not isinstance(read_run({"run": {"command": "x", "workdir": path}}), RunSpec)
    assert not isinstance(read_run({"run": {"command": "x", "results": [path]}}), RunSpec)


def test_one_environment_is_enough() -> None:
    (found,) = problems('[run]\ncommand = "x"\n[environment]\nvenv = "v"\ncontainer = "c.sif"')

    assert found == "environment.container: cannot go together with environment.venv; keep one of them"


def test_a_gpu_kind_alone_is_fine() -> None:
    assert read('[run]\ncommand = "x"\n[resources]\ngpu = "a100"').resources.gpu == "a100"


def test_a_key_in_the_wrong_table_is_sent_to_the_right_one() -> None:
    assert 'nodes: unknown key; did you mean "resources.nodes"?' in problems('nodes = 2\n[run]\ncommand = "x"')


def test_an_override_is_checked_though_nothing_is_missing_in_it() -> None:
    values = tomllib.loads("[site.narval.resources]\nnods = 2\n[site.narval.data.set]\nstage = 'node'")

    assert [one.key for one in find_problems(values)] == ["site.narval.resources.nods"]


def test_a_section_that_is_no_table_is_told() -> None:
    assert problems('run = 3\nresources = "x"') == [
        "run: expected a table: [run]",
        "resources: expected a table: [resources]",
    ]


hostile = st.one_of(
    st.text(),
    st.sampled_from(
        ["\n", '"', "'", "$(id)", "`id`", "ü", "x" * 10_000, "", "\0", "\udcff", "-", "..", "a\r\nb", "90"]
    ),
    st.integers(),
    st.sampled_from([-1, 0, 10**30, 10**4000]),
    st.floats(),
    st.booleans(),
    st.none(),
    st.dates(),
    st.times(),
)
tangled = st.recursive(hostile, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
keys = sorted((section, key) for section, shape in SECTIONS.items() if isinstance(shape, Table) for key in shape.fields)


@pytest.mark.parametrize(("section", "key"), keys)
@settings(max_examples=30, deadline=None)
@given(value=tangled, as_text=st.booleans())
def test_no_value_of_any_key_breaks_the_reader(section: str, key: str, value: object, as_text: bool) -> None:
    if as_text and isinstance(value, str):
        value = FromText(value)
    values = {"run": {"command": "x"}}
    values.setdefault(section, {})[key] = value  # type: ignore[assignment]  # hostile on purpose

    assert_spec_or_problems(read_run(values))


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from([*SECTIONS, "site", "x"]) | st.text(), tangled))
def test_no_table_breaks_the_reader(values: dict[str, object]) -> None:
    assert_spec_or_problems(read_run(values))
    find_problems(values)


def assert_spec_or_problems(found: RunSpec | tuple[Problem, ...]) -> None:
    if isinstance(found, RunSpec):
        return
    assert found
    for one in found:
        assert one.message
        assert f"{one.key}{one.value}".isprintable()
