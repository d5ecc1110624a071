"""What `windlass plan` says of a place, a price and a finding."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import PLAN, RECORD
from tests.cli.conftest import Windlass
from windlass.app.record_words import format_why
from windlass.cli.words import (
    format_cost,
    format_end,
    format_findings,
    format_launcher,
    format_network_test,
    format_place,
    format_runner_up,
)
from windlass.core.cost import Cost
from windlass.core.facts import Balance
from windlass.core.finding import Finding, Severity
from windlass.core.plan import Reason, RunnerUp
from windlass.core.record import RunState
from windlass.core.site import CostUnit

COST = Cost(unit=CostUnit.CORE_HOURS, one_link=100, whole=300)
BALANCE = Balance(account="prof", unit="core-hours", limit=20_000, used=5_000)
FINDING = Finding(code="C103", severity=Severity.ERROR, message="no QOS 'x'", hint="--qos a\n--qos b")


def test_a_place_names_what_is_written_into_the_script() -> None:
    plan = replace(PLAN, partition="gpu", account="prof", qos="long", reservation="course")

    assert format_place(plan) == "alpha, partition gpu, account prof, QOS long, reservation course"
    assert format_place(PLAN) == "alpha, partition the default, account the default"


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (RunnerUp(partition="dev", qos="test", why_not="w"), "partition dev, QOS test: w"),
        (RunnerUp(partition="", qos="test", why_not="w"), "QOS test: w"),
        (RunnerUp(partition="", why_not="w"), "the default QOS: w"),
    ],
)
def test_the_second_place(second: RunnerUp, words: str) -> None:
    assert format_runner_up(second) == words


@pytest.mark.parametrize(
    ("balance", "words"),
    [
        (None, ""),
        (BALANCE, "; 2 % of the 15000 left to prof"),
        (replace(BALANCE, limit=6_000), "; 30 % of the 1000 left to prof"),
        (replace(BALANCE, unit="node-hours"), "; prof has 15000 node-hours left"),
        (replace(BALANCE, used=30_000), "; prof has nothing left of 20000 core-hours"),
        (replace(BALANCE, limit=None), "; prof has used 5000 core-hours"),
        (replace(BALANCE, limit=None, used=None), ""),
    ],
)
def test_a_price_is_told_for_a_link_and_for_all_and_against_what_is_left(balance: Balance | None, words: str) -> None:
    assert format_cost(COST, balance) == f"at most 300 core-hours (100 a link){words}"


def test_a_finding_shows_what_it_rests_on_and_what_slurm_would_say() -> None:
    full = replace(FINDING, where="train.py:12", fact="sacctmgr show assoc", refusal="Invalid qos specification")

    assert format_findings([full]) == [
        "error    C103  no QOS 'x'",
        "              at train.py:12",
        "              seen in: sacctmgr show assoc",
        "              Slurm would say: Invalid qos specification",
        "              try: --qos a\n                   --qos b",
    ]


def test_a_job_that_would_never_start_is_told_as_such() -> None:
    lines = format_findings([replace(FINDING, refusal="(PartitionTimeLimit)", hint=None)])

    assert lines[1].strip() == "Slurm would take it and never start it: (PartitionTimeLimit)"


def test_the_script_comes_before_the_talk_and_tells_what_is_not_filled_in(windlass: Windlass, project: Path) -> None:
    windlass("site", "add", "far", "--host", "login.nowhere.invalid", "--root", "$SCRATCH/windlass")
    words = [sys.executable, "-m", "windlass", "plan", "--on", "far", "--command", "true"]

    for more in ([], ["--script"]):
        done = subprocess.run(
            [*words, *more], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )

        assert done.stdout.startswith("#!/bin/bash")
        assert "note: the script is a preview: $SCRATCH will be filled in when far is reached" in done.stdout


def test_a_site_that_is_there_already_is_replaced_by_the_same_command(windlass: Windlass) -> None:
    words = ("site", "add", "far", "--host", "login.nowhere.invalid")
    windlass(*words)

    assert "try: the same command with --replace" in windlass(*words).stderr
    assert windlass(*words, "--replace").returncode == 0


def test_a_launcher_is_told_where_it_was_named_and_no_reason_tells_it() -> None:
    plan = replace(PLAN, launcher="torchrun", processes_per_node=4)

    assert format_launcher(plan) == "torchrun, as you say: 4 processes a node"
    assert format_launcher(replace(plan, reasons=(Reason(field="launcher", value="torchrun", why="w"),))) == ""


def test_the_network_test_is_told_where_there_is_a_network() -> None:
    tested = replace(PLAN, nodes=2, network_test=True, replace_nodes=False)

    assert format_network_test(tested) == "the nodes try it out before the training starts (run.network_test)"
    assert "; sick ones are left out" in format_network_test(replace(tested, replace_nodes=True))
    assert format_network_test(replace(tested, network_test=False)).startswith("not tested")
    assert format_network_test(PLAN) == ""


def test_the_plan_names_the_launcher_that_was_named(windlass: Windlass, project: Path) -> None:
    windlass("site", "add", "far", "--host", "login.nowhere.invalid")

    told = windlass("plan", "--on", "far", "--command", "python x.py", "--nodes", "2", "--launcher", "srun").stderr

    assert "launcher   srun, as you say: 1 process a node" in told
    assert "network    the nodes try it out before the training starts" in told


@pytest.mark.parametrize(("reason", "words"), [("failed", ""), (None, ""), ("a node failed", ": a node failed")])
def test_an_end_says_nothing_twice(reason: str | None, words: str) -> None:
    record = replace(RECORD, state=RunState.FAILED, reason=reason, started=None)

    assert format_end(record) == f"{RECORD.run_id} failed{words}"
    assert format_why(record) == words.removeprefix(": ")


def test_a_long_reason_is_cut_between_words() -> None:
    shown = format_why(replace(RECORD, state=RunState.NOT_SUBMITTED, reason="sbatch: error:\n" + "word " * 40))

    assert shown.endswith(" word …")
    assert "\n" not in shown
