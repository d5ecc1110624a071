"""What the checks of code and environment advise, and that they bear whatever stands in a file."""

from dataclasses import replace

import pytest

from tests.checks.code_cases import BERT, K40, OFFLINE, code_case, pinned, run, site_with
from tests.checks.examples_privacy import EXAMPLES as PRIVACY
from tests.checks.examples_software import EXAMPLES as SOFTWARE
from tests.core.test_any_code import BAD
from windlass.checks import CHECKS, run_checks
from windlass.core.case import Case
from windlass.core.finding import Finding
from windlass.core.site import GpuKind, Rules


def findings(code: str, of: Case) -> list[Finding]:
    return list(CHECKS[code](of))


def test_the_hint_names_the_last_build_that_works() -> None:
    old = findings("C306", SOFTWARE["C306"].trips)[0].hint
    older = findings("C306", pinned("torch==1.3.1", K40))[0].hint
    new = findings("C306", pinned("torch==1.13.1", site_with(GpuKind(name="h100"))))[0].hint

    assert old == ('"torch==2.10.*" from PyPI, or "torch==2.14.*" with -i https://download.pytorch.org/whl/cu126')
    assert older == '"torch==1.2.*" from PyPI, or a build for it: https://example.org/legacy'
    assert new == '"torch>=2.1"'


def test_the_hint_for_downloads_is_to_be_pasted() -> None:
    (finding,) = findings(
        "C502", code_case(BERT, site=replace(OFFLINE, rules=Rules(compute_internet=False, jobs_from_home=False)))
    )

    assert finding.hint == (
        "on login.example.org, before: hf download bert-base-uncased\n"
        '[run.env]\nHF_HUB_OFFLINE = "1"\nHF_HOME = "/scratch/alice/windlass/huggingface"'
    )
    assert finding.where == "train.py:2"
    assert finding.fact == "rules.compute_internet of alpha"


def test_a_secret_is_not_shown_again() -> None:
    (finding,) = findings("C507", PRIVACY["C507"].trips)

    assert "abcdef0123456789" not in repr(finding)


@pytest.mark.parametrize("name", BAD)
def test_whatever_stands_in_a_file_is_borne(name: str) -> None:
    names = ("run.sh", "requirements.txt", "environment.yml", "pyproject.toml", "uv.lock", "Pipfile")

    run_checks(
        code_case(
            BAD[name], site=OFFLINE, spec=run("bash run.sh; python train.py"), files=dict.fromkeys(names, BAD[name])
        )
    )


@pytest.mark.parametrize("name", BAD)
def test_whatever_stands_in_the_command_is_borne(name: str) -> None:
    run_checks(code_case(site=OFFLINE, spec=run(BAD[name] or "true")))
