"""Scripts that are right give no error and no warning: false alarms are as bad as misses."""

import os
import re
from pathlib import Path

import pytest

import windlass
from windlass.app.linting import Looking, lint_paths
from windlass.core.finding import Severity
from windlass.core.sbatch.script import read_script
from windlass.edges.folders import find_folders
from windlass.edges.site_files import load_site

GOOD = sorted((Path(__file__).parent / "good").glob("*.sh"))
GOLDEN = sorted((Path(__file__).parent.parent / "core" / "golden").glob("*.sh"))


def site_of(file: Path) -> str:
    return re.sub(r"-(one|two|chain)(-\w+)?$", "", file.stem)


def loud(file: Path, looking: Looking) -> list[str]:
    (linted,) = lint_paths([str(file)], looking)
    return [f"{mark.line}: {mark.code} {mark.message}" for mark in linted.marks if mark.severity is not Severity.ADVICE]


@pytest.mark.parametrize("file", GOLDEN, ids=lambda path: path.stem)
def test_what_windlass_writes_is_clean(file: Path) -> None:
    assert loud(file, Looking()) == []


@pytest.mark.parametrize("file", GOOD, ids=lambda path: path.stem)
def test_a_good_script_is_clean_at_its_centre(file: Path) -> None:
    site = load_site(site_of(file), find_folders(os.environ))

    assert loud(file, Looking(site=site)) == []


@pytest.mark.parametrize("file", GOOD, ids=lambda path: path.stem)
def test_without_a_centre_a_good_script_has_no_errors(file: Path) -> None:
    (linted,) = lint_paths([str(file)], Looking())

    assert linted.errors == ()
    assert linted.script.is_accepted


def test_each_centre_has_three_shapes() -> None:
    sites = [site_of(file) for file in GOOD]

    assert len(set(sites)) == 5
    assert {sites.count(site) for site in sites} == {3}


@pytest.mark.parametrize(
    ("site", "name", "old", "new", "option"),
    [
        ("narval", "narval-one-gpu", "--time=0-12:00:00", "--time=9-00:00:00", "time"),
        ("narval", "narval-one-gpu", "#SBATCH --account=def-prof\n", "", ""),
        ("juwels-booster", "juwels-booster-two-nodes", "--time=12:00:00", "--time=48:00:00", "time"),
        ("juwels-booster", "juwels-booster-two-nodes", "--gres=gpu:4", "--gres=gpu:8", "gres"),
        ("wilson", "wilson-one-gpu", "gpu:p100:1", "gpu:a100:9", "gres"),
        ("wilson", "wilson-one-gpu", "--output=job_%x_%A.out", "--output=/nashome/s/%j.out", "output"),
        ("daint", "daint-one-node", "--time=00:10:00", "--time=3-00:00:00", "time"),
        ("sdumont", "sdumont-one-gpu", "--time=04:00:00", "--time=200:00:00", "time"),
    ],
)
def test_a_centre_refuses_what_it_does_not_give(
    tmp_path: Path, site: str, name: str, old: str, new: str, option: str
) -> None:
    text = (Path(__file__).parent / "good" / f"{name}.sh").read_text()
    assert old in text
    path = tmp_path / "job.sh"
    path.write_text(text.replace(old, new))

    (linted,) = lint_paths([str(path)], Looking(site=load_site(site, find_folders(os.environ))))

    assert linted.errors
    found = read_script(path.read_bytes()).last(option)
    if found is not None:
        assert found.line in {mark.line for mark in linted.errors}


def test_the_same_from_python(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/bash\n#SBATCH --ntaks=4\n#SBATCH --time=1:00:00\npython train.py\n")

    (linted,) = windlass.lint_scripts([script], site="here")
    adopted = windlass.adopt(script, into=tmp_path / "windlass.toml")

    assert "S118" in {mark.code for mark in linted.errors}
    assert adopted.refusal == "unrecognized option '--ntaks=4'"
    assert 'time = "1h"' in adopted.text
