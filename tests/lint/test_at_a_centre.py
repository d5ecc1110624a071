"""The project's checks on a script: which are asked, and on which line each speaks."""

import os
from pathlib import Path

import pytest

from tests.builders import SITE
from tests.checks.cases import seen
from windlass.app.linting import Looking, lint_paths
from windlass.app.script_checks import ABOUT, NOT_FOR_SCRIPTS, check_script
from windlass.checks import CHECKS
from windlass.core.facts import NOTHING_SEEN
from windlass.core.finding import Severity
from windlass.core.sbatch.script import read_script
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_site
from windlass.lint import lint_script

HEAD = "#!/bin/bash\n#SBATCH --account=g\n#SBATCH --gres=gpu:p100:1\n"
TAIL = "#SBATCH --cpus-per-task=2\n#SBATCH --mem=4G\n#SBATCH --mail-user=ada\nhostname\n"


def test_every_check_is_asked_or_says_why_not() -> None:
    assert not ABOUT.keys() & NOT_FOR_SCRIPTS.keys()
    assert {*ABOUT, *NOT_FOR_SCRIPTS} == set(CHECKS)


@pytest.mark.parametrize("name", ["nosuch", "gpux", "time", "nodes"])
def test_an_unknown_partition_is_marked_where_it_stands(tmp_path: Path, name: str) -> None:
    path = tmp_path / "job.sh"
    path.write_text(f"{HEAD}#SBATCH --time=1:00:00\n#SBATCH --partition={name}\n{TAIL}")

    (linted,) = lint_paths([str(path)], Looking(site=load_site("wilson", find_folders(os.environ))))

    assert {(mark.code, mark.line) for mark in linted.errors} == {("E201", 5)}


def test_a_partition_that_a_living_centre_lacks_is_marked_where_it_stands() -> None:
    text = f"{HEAD}#SBATCH --time=1:00:00\n#SBATCH --partition=gpux\n{TAIL}"

    marks = check_script(read_script(text.encode()), SITE, seen(), name="job")

    (mark,) = (one for one in marks if one.severity is Severity.ERROR)
    assert (mark.code, mark.line, mark.hint) == ("C229", 5, "leave --partition out, or correct it")


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        ("--gres=gpu:99", "GPUs"),
        ("--cpus-per-task=9999", "cores"),
        ("--mem=99T", "memory"),
        ("--nodes=9999", "node"),
    ],
)
def test_what_does_not_fit_is_marked_where_it_stands(directive: str, words: str) -> None:
    text = f"#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH {directive}\n#SBATCH --mail-user=ada\nhostname\n"

    marks = check_script(read_script(text.encode()), SITE, NOTHING_SEEN, name="job")

    found = [mark for mark in marks if words in mark.message]
    assert {mark.line for mark in found} == {3}


def test_a_job_with_one_core_is_marked_at_its_gpus() -> None:
    text = "#!/bin/bash\n#SBATCH --gres=gpu:1\n#SBATCH --output=x-%j.out\nhostname\n"

    assert [mark.line for mark in lint_script(read_script(text.encode())) if mark.code == "S147"] == [2]
