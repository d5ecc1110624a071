"""The first windlass.toml: sensible for a usual project, and readable for any."""

import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.run import RunSpec
from windlass.core.toml.run_file import read_run
from windlass.core.toml.starter import FRAMEWORKS, ProjectSeen, ScriptSeen, make_starter, pick_training

TRAIN = ScriptSeen(path="train.py", frameworks=frozenset({"torch"}), has_main=True, has_arguments=True, saves=True)


def read(text: str) -> RunSpec:
    spec = read_run(tomllib.loads(text))
    assert isinstance(spec, RunSpec), (spec, text)
    return spec


def test_a_usual_project_gets_a_file_that_says_what_matters() -> None:
    seen = ProjectSeen(
        name="digits",
        files=frozenset({"requirements.txt", "train.py"}),
        folders=frozenset({"data", "outputs"}),
        scripts=(ScriptSeen(path="tests/test_train.py", frameworks=frozenset({"torch"})), TRAIN),
    )

    assert make_starter(seen) == GOLDEN
    spec = read(GOLDEN)
    assert spec.command == "python3 train.py"
    assert spec.resources.gpus == 1
    assert spec.exclude == ("data/**", "outputs/**")


def test_every_suggestion_can_be_used() -> None:
    seen = ProjectSeen(name="digits", files=frozenset({"requirements.txt"}), scripts=(TRAIN,))
    text = make_starter(seen)

    head, rest = text.split("[run]")
    keys = [line.removeprefix("# ") if " = " in line else line for line in rest.splitlines()]

    assert read(head + "[run]" + "\n".join(keys)).environment.venv == "requirements.txt"


def test_the_training_is_told_from_tests_and_tools() -> None:
    tool = ScriptSeen(path="tools/convert.py", has_main=True, has_arguments=True)
    deep = ScriptSeen(path="src/pkg/model.py", frameworks=frozenset({"torch"}))

    assert pick_training([tool, deep, TRAIN]) == TRAIN
    assert pick_training([ScriptSeen(path="notes.py")]) is None
    assert pick_training([]) is None


def test_a_path_with_blanks_and_dollars_is_one_word_of_the_command() -> None:
    script = ScriptSeen(path="my $(id) dir/tra'in.py", frameworks=frozenset({"torch"}))

    spec = read(make_starter(ProjectSeen(name="x", scripts=(script,))))

    assert spec.command == """python3 'my $(id) dir/tra'"'"'in.py'"""


scripts = st.builds(
    ScriptSeen,
    path=st.text(),
    frameworks=st.frozensets(st.sampled_from(FRAMEWORKS)),
    has_main=st.booleans(),
    has_arguments=st.booleans(),
    saves=st.booleans(),
)
names = st.frozensets(st.sampled_from(["requirements.txt", "environment.yml", "data", "runs"]) | st.text())


@settings(deadline=None)
@given(
    st.builds(ProjectSeen, name=st.text(), files=names, folders=names, scripts=st.lists(scripts, max_size=4).map(tuple))
)
def test_any_project_gets_a_file_that_reads_back(seen: ProjectSeen) -> None:
    read(make_starter(seen))


GOLDEN = """\
# What to run and what it needs. `windlass plan` shows what would be submitted, `windlass run` submits it.
# Lines that begin with # are suggestions: remove the # to use them.

[run]
name = "digits"
command = "python3 train.py"
results = ["outputs/**"]  # what `windlass fetch` brings home
exclude = ["data/**", "outputs/**"]  # does not travel with the code
# site = "here"  # where to run when --on is not given

[resources]
gpus = 1  # of the whole run; nodes follow from it
time = "1h"  # the whole training; longer than a job may last becomes a chain of jobs
# memory = "32G"  # for each node
# account = "def-yours"  # who pays, where the site wants to know

[environment]
# venv = "requirements.txt"  # built at the site, once, when a run first needs it
# activate = "source ~/env/bin/activate"  # an environment that you made at the site, once
# modules = ["python/3.11"]  # what `module load` needs at the site

[checkpoint]
# A training that saves here, and goes on from what it finds here, may last longer than one job.
# folder = "checkpoints"
# notice = "2m"  # so long before the end of a job the command gets a signal
"""
