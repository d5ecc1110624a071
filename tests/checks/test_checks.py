"""Every check: a case that trips it, and one that nearly does. The examples are in tables, a file for each theme."""

import importlib
from pathlib import Path

import pytest

from tests.checks.cases import CHAIN, Example, case, with_rules
from windlass.checks import CHECKS, run_checks
from windlass.core.case import Case
from windlass.core.finding import Finding, Severity

_TABLES = sorted(Path(__file__).parent.glob("examples_*.py"))
EXAMPLES: dict[str, Example] = {
    code: example
    for table in _TABLES
    for code, example in importlib.import_module(f"tests.checks.{table.stem}").EXAMPLES.items()
}


def findings(code: str, of: Case) -> list[Finding]:
    return list(CHECKS[code](of))


def test_every_check_has_its_examples() -> None:
    assert sorted(EXAMPLES) == sorted(CHECKS)


def test_the_catalogue_is_in_order() -> None:
    assert list(CHECKS) == sorted(CHECKS)


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_it_trips_and_says_both_numbers(code: str) -> None:
    (finding,) = findings(code, EXAMPLES[code].trips)

    assert (finding.code, finding.message) == (code, EXAMPLES[code].says)
    assert finding.refusal == EXAMPLES[code].refusal


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_a_near_miss_passes(code: str) -> None:
    assert findings(code, EXAMPLES[code].passes) == []


@pytest.mark.parametrize(
    ("code", "quiet"), [(code, one) for code in sorted(EXAMPLES) for one in EXAMPLES[code].also_passes]
)
def test_what_is_unknown_or_fine_passes(code: str, quiet: Case) -> None:
    assert findings(code, quiet) == []


@pytest.mark.parametrize(
    ("code", "loud"), [(code, one) for code in sorted(EXAMPLES) for one in EXAMPLES[code].also_trips]
)
def test_other_ways_to_trip(code: str, loud: Case) -> None:
    assert [finding.code for finding in findings(code, loud)] == [code]


def test_a_plain_run_has_no_findings() -> None:
    assert run_checks(case()) == ()


def test_findings_come_in_the_order_of_the_catalogue() -> None:
    both = case(plan=CHAIN, site=with_rules(needs_account=True))

    assert [one.code for one in run_checks(both)] == ["C101", "C204"]


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_every_finding_names_its_fact_and_a_fix(code: str) -> None:
    for one in (EXAMPLES[code].trips, *EXAMPLES[code].also_trips):
        for finding in findings(code, one):
            assert finding.fact or finding.severity is not Severity.ERROR
            assert finding.hint or finding.severity is not Severity.ERROR
            assert finding.message == finding.message.strip().rstrip(".")


@pytest.mark.parametrize("code", sorted(EXAMPLES))
def test_what_slurm_refuses_is_an_error(code: str) -> None:
    for one in (EXAMPLES[code].trips, *EXAMPLES[code].also_trips):
        assert [
            finding for finding in findings(code, one) if finding.refusal and finding.severity is not Severity.ERROR
        ] == []


def test_only_what_certainly_fails_is_an_error() -> None:
    milder = {code for code, one in EXAMPLES.items() if findings(code, one.trips)[0].severity is not Severity.ERROR}

    ours = {code for code in milder if code[1] not in "35"}
    assert ours == {
        *("C110", "C111", "C201", "C203", "C204", "C206", "C209", "C217", "C218", "C219", "C220", "C221"),
        *(
            "C222",
            "C223",
            "C224",
            "C227",
            "C230",
            "C403",
            "C410",
            "C411",
            "C412",
            "C413",
            "C414",
            "C416",
            "C417",
            "C420",
            "C603",
        ),
        *("C606", "C702", "C703", "C706"),
    }


def test_a_secret_is_not_shown_again() -> None:
    (finding,) = findings("C304", EXAMPLES["C304"].trips)

    assert "0123456789abcdef" not in repr(finding)


def test_errors_come_before_warnings_and_these_before_advice() -> None:
    ranks = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.ADVICE: 3}

    found = [[ranks[one.severity] for one in run_checks(example.trips)] for example in EXAMPLES.values()]

    assert all(few == sorted(few) for few in found)
    assert {(few[0], few[-1]) for few in found if few} >= {(1, 2), (1, 3), (2, 3)}
