"""How links follow one another: one array, jobs that wait for each other, or one job that is queued again."""

import subprocess
from dataclasses import replace

import pytest

from tests.builders import PLAN, RECORD
from windlass.app.submitting import make_submissions
from windlass.core.chain import list_submissions
from windlass.core.job import make_script
from windlass.core.plan import Plan
from windlass.core.record import Submission
from windlass.core.site import ChainStyle
from windlass.pocket.directives import read_directives

ARRAY = replace(PLAN, links=3, dependency="afterok:7")
DEPENDENCY = replace(ARRAY, chain=ChainStyle.DEPENDENCY, number=4, first_link=6)
REQUEUE = replace(ARRAY, chain=ChainStyle.REQUEUE, first_link=6)
OUTER = {"SLURM_JOB_ID": "45", "PATH": "/usr/bin:/bin"}


def read_exports(plan: Plan, **env: str) -> dict[str, str]:
    """What the script's own part exports: it is really run, up to its start of the command."""
    start = make_script(plan).partition("# The agent takes this link")[0]
    done = subprocess.run(
        ["bash"], input=start + "env", capture_output=True, text=True, check=True, env={**OUTER, **env}
    )
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("WINDLASS_"))


@pytest.mark.parametrize("plan", [ARRAY, REQUEUE, replace(DEPENDENCY, links=1)])
def test_an_array_a_requeued_job_and_a_single_link_are_one_submission(plan: Plan) -> None:
    assert list_submissions(plan) == (plan,)


def test_by_dependency_each_link_is_a_submission() -> None:
    plans = list_submissions(DEPENDENCY)

    assert [(one.number, one.first_link, one.links, one.last_link) for one in plans] == [
        (4, 6, 1, 8),
        (5, 7, 1, 8),
        (6, 8, 1, 8),
    ]
    assert [one.dependency for one in plans] == ["afterok:7", None, None], "later ones wait for the one before"


def test_each_waits_for_the_one_before_it() -> None:
    assert [(one.number, one.after, one.token) for one in make_submissions(DEPENDENCY)] == [
        (4, None, f"windlass:{PLAN.run_id}:4"),
        (5, 4, f"windlass:{PLAN.run_id}:5"),
        (6, 5, f"windlass:{PLAN.run_id}:6"),
    ]
    assert make_submissions(ARRAY) == (Submission(number=1, token=f"windlass:{PLAN.run_id}:1", links=3),)


@pytest.mark.parametrize(
    ("plan", "array", "requeue", "log"),
    [
        (ARRAY, "1-3%1", False, "%A_%a.out"),
        (DEPENDENCY, None, False, "%j.out"),
        (REQUEUE, None, True, "%j.out"),
        (replace(REQUEUE, links=1), None, False, "%j.out"),
    ],
)
def test_what_sbatch_is_told(plan: Plan, array: str | None, requeue: bool, log: str) -> None:
    options = dict(read_directives(make_script(plan).encode(), "job.sh"))

    assert options.get("array") == array
    assert ("requeue" in options, "no-requeue" in options) == (requeue, not requeue)
    assert options["output"].endswith(f"/{log}")
    assert options["dependency"] == "afterok:7"


@pytest.mark.parametrize(
    ("plan", "env", "link"),
    [
        (ARRAY, {"SLURM_ARRAY_TASK_ID": "2"}, ("2", "3", "1")),
        (REQUEUE, {}, ("6", "8", "1")),
        (REQUEUE, {"SLURM_RESTART_COUNT": "2"}, ("8", "8", "1")),
        (list_submissions(DEPENDENCY)[1], {"SLURM_RESTART_COUNT": "2"}, ("7", "8", "4")),
        (PLAN, {"SLURM_RESTART_COUNT": "1"}, ("1", "1", "1")),
    ],
)
def test_a_script_knows_which_link_it_is(plan: Plan, env: dict[str, str], link: tuple[str, ...]) -> None:
    told = read_exports(plan, **env)

    assert (told["WINDLASS_LINK"], told["WINDLASS_LINKS"], told["WINDLASS_CHAIN_FIRST"]) == link
    assert (told["WINDLASS_LINK_S"], told["WINDLASS_NOTICE_S"]) == ("3600", "120")


def test_the_chain_of_a_record_is_what_was_sent_together_last() -> None:
    first = RECORD.submissions[0]
    sent = tuple(replace(one, job_id=str(one.number * 10)) for one in make_submissions(DEPENDENCY))
    record = replace(RECORD, submissions=(first, *sent[:2], replace(sent[2], job_id=None)))

    assert record.chain == record.submissions[1:]
    assert (record.job_id, record.job_ids) == ("40", ("40", "50"))
    assert replace(record, link=7).job_id == "50"
    assert replace(RECORD, submissions=(replace(first, job_id=None),)).job_id is None
