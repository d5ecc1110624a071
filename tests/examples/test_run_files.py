"""The run files of examples/ fit every site, and nothing in the code would fail there."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import ATTEMPT
from tests.checks.code_cases import make_code
from tests.conftest import Places
from tests.docs.pages import ROOT
from tests.sites.shipped import CENTRES, load
from windlass.checks import run_checks
from windlass.core.case import Case
from windlass.core.facts import Association, Facts
from windlass.core.finding import Severity
from windlass.core.planning import make_plan
from windlass.edges.settings import load_run_spec
from windlass.launchers import LAUNCHERS

FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/windlass.toml"))
SOURCES = (".py", ".toml")


def plan_example(folder: Path, centre: str, places: Places, *, is_launcher_seen: bool = False) -> Case:
    """For a site of which only its file is known. is_launcher_seen: the file does not name the launcher."""
    files = {path.name: path.read_text() for path in folder.iterdir() if path.suffix in SOURCES}
    code, site = make_code(files), load(centre)
    facts = Facts(associations=(Association(account="prof", is_default=True),), root="/scratch/alice/windlass")
    spec, _ = load_run_spec(folder, centre, places.env)
    spec = replace(spec, launcher=None) if is_launcher_seen else spec
    plan = make_plan(spec, site, facts, ATTEMPT, launchers=LAUNCHERS, code=code)
    return Case(spec=spec, plan=plan, site=site, facts=facts, code=code)


@pytest.mark.parametrize("centre", CENTRES)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_example_fits_every_site(folder: Path, centre: str, places: Places) -> None:
    findings = run_checks(plan_example(folder, centre, places))

    # C503 and its kin are about the code: nothing of them may be found in an example.
    assert [one for one in findings if one.severity is Severity.ERROR or one.code.startswith("C5")] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_launcher_of_an_example_is_seen_from_its_code(folder: Path, places: Places) -> None:
    named = plan_example(folder, CENTRES[0], places).plan
    seen = plan_example(folder, CENTRES[0], places, is_launcher_seen=True).plan

    assert (seen.launcher, seen.processes) == (named.launcher, named.nodes)
