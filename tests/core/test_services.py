"""What a notebook takes of a run file, what a site allows, and what to write where a program is missing."""

import json
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import HOUR, PLAN, RECORD, SITE, SPEC
from windlass.cli.service_words import format_leaving
from windlass.core.codec import from_json
from windlass.core.cost import Cost
from windlass.core.environment import Built, Entering, EnvironmentSeen, Recipe
from windlass.core.run import Checkpoint, Environment, Resources
from windlass.core.services.boards import make_ended, make_options, make_site_script
from windlass.core.services.card import Card
from windlass.core.services.rules import check_interactive, check_login_service
from windlass.core.services.shaping import (
    DEFAULT_TIME,
    Service,
    make_jupyter_command,
    shape_batch,
    shape_service,
)
from windlass.core.services.software import ABSENT, is_among, is_listed, make_install_hint, make_question
from windlass.core.site import CostUnit, Login, Rules
from windlass.errors import InteractiveRefused, ServiceFailed

TRAINING = replace(
    SPEC,
    resources=Resources(
        nodes=4, gpus=16, gpu="a100", cpus=32, memory_mb=64_000, time=72 * HOUR, account="lab", dependency="afterok:1"
    ),
    checkpoint=Checkpoint(folder="checkpoints", done_file="done"),
    results=("runs/**",),
    launcher="torchrun",
)
LAB = Service(name="jupyter", command="lab", results=("**/*.ipynb",))
FAR = replace(SITE, login=Login(host="login.alpha"))


def test_a_notebook_is_small_and_in_the_same_place_as_the_training() -> None:
    spec = shape_service(TRAINING, LAB, frozenset())

    assert spec.resources == Resources(nodes=1, gpus=1, gpu="a100", time=DEFAULT_TIME, account="lab")
    assert (spec.name, spec.command, spec.launcher) == ("jupyter", "lab", "single")
    assert spec.checkpoint == Checkpoint(max_links=1)
    assert spec.results == ("runs/**", "**/*.ipynb")
    assert spec.environment == TRAINING.environment


def test_what_the_command_line_says_counts() -> None:
    given = frozenset({"resources.gpus", "resources.time", "resources.memory", "run.name"})

    spec = shape_service(replace(TRAINING, name="trial"), LAB, given)

    assert spec.name == "trial"
    assert (spec.resources.gpus, spec.resources.time, spec.resources.memory_mb) == (16, 72 * HOUR, 64_000)
    assert (spec.resources.nodes, spec.resources.cpus) == (1, None)


def test_without_gpus_in_the_training_a_notebook_has_none() -> None:
    assert shape_service(SPEC, LAB, frozenset()).resources.gpus is None


def test_a_notebook_as_a_batch_job_has_the_size_of_the_training() -> None:
    spec = shape_batch(TRAINING, LAB, frozenset())

    assert spec.resources == TRAINING.resources
    assert (spec.checkpoint, spec.results) == (Checkpoint(max_links=1), ("**/*.ipynb",))


def test_the_command_finds_the_zip_of_its_run() -> None:
    line = make_jupyter_command(idle=timedelta(minutes=30), listen="node", folder="$HOME/my books")

    said = subprocess.run(
        ["bash", "-c", f"python3() {{ printf '%s|' \"$@\"; }}; {line}"],
        env={"WINDLASS_RUN_DIR": "/a b/run", "HOME": "/h"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    expected = ["-I", "/a b/run/windlass_job.pyz", "jupyter", "--idle=1800", "--listen=node", "--folder=$HOME/my books"]
    assert said.split("|")[:-1] == expected
    assert make_jupyter_command(idle=None, listen="loopback", folder=None).endswith("windlass_job.pyz jupyter")


def test_a_site_says_how_many_nodes_somebody_may_sit_at() -> None:
    site = replace(SITE, rules=Rules(max_nodes_interactive=3))

    check_interactive(site, nodes=3, what="a shell")
    with pytest.raises(InteractiveRefused, match="a shell of 4 nodes is more than alpha gives: 3 at most"):
        check_interactive(site, nodes=4, what="a shell")


def test_a_site_that_wants_none_is_respected_and_its_own_page_named() -> None:
    site = replace(SITE, rules=Rules(interactive=False), links={"jupyter": "https://jupyter.alpha"})

    with pytest.raises(InteractiveRefused, match="does not want a notebook") as caught:
        check_interactive(site, nodes=1, what="a notebook")
    assert "https://jupyter.alpha" in str(caught.value.hint)


def test_login_nodes_are_left_alone_where_the_site_says_so() -> None:
    assert check_login_service(replace(SITE, rules=Rules(login_services=True)), what="TensorBoard") is None
    assert "not known" in str(check_login_service(SITE, what="TensorBoard"))
    with pytest.raises(InteractiveRefused, match="does not want TensorBoard on its login nodes"):
        check_login_service(replace(SITE, rules=Rules(login_services=False)), what="TensorBoard")


def test_tensorboard_gets_a_word_for_a_key_and_no_second_server() -> None:
    here, there = (make_options("word", ["a-1", "b-2"], is_here=one) for one in (True, False))

    assert {"--path_prefix=/word", "--window_title=a-1 b-2", "--load_fast=false"} <= {*here} & {*there}
    assert "--detect_file_replacement=true" in here


@pytest.mark.parametrize(
    ("found", "code", "said"), [("exit 0", 5, "-m tensorboard.main --flagfile=x"), ("exit 43", ABSENT, "")]
)
def test_at_a_site_the_environment_is_asked_for_tensorboard_first(
    tmp_path: Path, found: str, code: int, said: str
) -> None:
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\n[ "$1" != -c ] || {found}\necho "$*"; exit 5\n')
    python.chmod(0o755)
    plan = replace(PLAN, modules=(), purge_modules=False, activate=(f"export PATH={tmp_path}:/usr/bin:/bin",))

    done = subprocess.run(
        ["bash", "-c", make_site_script(plan, enters=True), "tensorboard", "--flagfile=x"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.strip()) == (code, said)


def test_the_last_words_of_a_tensorboard_say_whether_it_is_missing() -> None:
    missing = make_ended(f"TensorBoard ended with {ABSENT}", "alpha", "install it")
    broken = make_ended("TensorBoard ended with 1\nno module named numpy", "alpha", "install it")

    assert (missing.code, missing.hint) == ("E922", "install it")
    assert (broken.code, broken.said) == ("E923", "no module named numpy")


def make_seen(**packages: str) -> EnvironmentSeen:
    built = Built(id="venv-1", kind="venv", path="/envs/venv-1", packages=packages)
    return EnvironmentSeen(recipe=Recipe(kind="venv"), entering=Entering(), built=built, is_asked=True)


def test_what_was_built_tells_whether_it_is_there() -> None:
    assert is_listed(make_seen(JupyterLab="4.6"), "jupyterlab", sees_modules=False) is True
    assert is_listed(make_seen(numpy="2"), "jupyterlab", sees_modules=False) is False
    assert is_listed(make_seen(numpy="2"), "jupyterlab", sees_modules=True) is None
    assert is_listed(make_seen(), "jupyterlab", sees_modules=False) is None
    assert is_listed(None, "jupyterlab", sees_modules=False) is None


@pytest.mark.parametrize(("module", "code"), [("json", 0), ("no_such_module_at_all", ABSENT)])
def test_python_is_asked_as_the_job_would_find_it(module: str, code: int) -> None:
    question = make_question(["export X=1"], ["env", "Y=2"], (module,))

    assert subprocess.run(["bash", "-c", question], check=False).returncode == code


def test_an_environment_that_cannot_be_entered_says_nothing() -> None:
    question = make_question([], ["/no/such/container"], ("json",))

    done = subprocess.run(["bash", "-c", question], check=False, capture_output=True)
    assert done.returncode not in (0, ABSENT)


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        (Environment(venv="requirements.txt"), "write jupyterlab into requirements.txt"),
        (Environment(conda="env/environment.yml"), "write jupyterlab into env/environment.yml"),
        (Environment(container="docker://a/b"), "build an image with jupyterlab"),
        (Environment(venv="/envs/mine"), "ssh login.alpha '/envs/mine/bin/python -m pip install jupyterlab'"),
        (Environment(activate="source ~/env.sh"), "source ~/env.sh && python3 -m pip install jupyterlab"),
        (Environment(), 'venv = "requirements.txt"'),
    ],
)
def test_where_it_is_missing_the_line_that_brings_it_is_told(environment: Environment, says: str) -> None:
    assert says in make_install_hint(environment, FAR, "jupyterlab")


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("nbclient\nIPyKernel>=6 ; python_version > '3.8'", True),
        ("  - nbclient=0.10\n  - ipykernel", True),
        ("nbclient", False),
        ("nbclient-extras\nipykernel", False),
        ("# nbclient\nipykernel", False),
    ],
)
def test_a_list_of_packages_names_them_or_not(text: str, is_there: bool) -> None:
    assert is_among([text], ["nbclient", "ipykernel"]) is is_there


def test_a_card_is_read_with_whatever_else_is_on_it() -> None:
    told = {"kind": "jupyter", "state": "ready", "port": 8888, "updated": 1.0, "of": "a later version"}

    card = from_json(json.dumps(told).encode(), Card, error=ServiceFailed, what="card")

    assert (card.port, card.is_over) == (8888, False)
    assert replace(card, state="idle").is_over


def test_whoever_leaves_is_told_that_the_job_goes_on_and_what_it_costs() -> None:
    plan = replace(PLAN, link_time=2 * HOUR, cost=Cost(unit=CostUnit.CORE_HOURS, one_link=96.0, whole=96.0))
    card = Card(kind="jupyter", state="ready", idle_after_s=1800.0)

    lines = format_leaving(replace(RECORD, started=1000.0), plan, card, now=2000.0)

    assert "goes on until" in lines[0]
    assert "and costs 48 core-hours for every hour" in lines[0]
    assert "no cell has run for 30 min" in lines[1]
    assert f"windlass cancel {RECORD.run_id}" in lines[2]
    assert "in the queue still" in format_leaving(RECORD, plan, None, now=2000.0)[0]
