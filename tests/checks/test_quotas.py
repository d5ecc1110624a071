"""Quotas with an environment that must be built first: told before hours of a build end with a full area."""

from dataclasses import replace

from tests.checks.cases import case
from tests.checks.examples_storage import ROOMY
from windlass.checks.quotas import files_are_over_the_quota, space_is_over_the_quota
from windlass.core.case import Case
from windlass.core.environment import Entering, EnvironmentSeen, Recipe
from windlass.core.facts import Facts
from windlass.core.finding import Severity

SEEN = EnvironmentSeen(recipe=Recipe(kind="venv"), entering=Entering(), is_asked=True)


def make_case(needs_bytes: int, needs_files: int, used_bytes: int = 2_000_000_000) -> Case:
    quota = replace(ROOMY, used_bytes=used_bytes, used_files=990_000)
    needs = replace(SEEN, needs_bytes=needs_bytes, needs_files=needs_files)
    return replace(case(facts=Facts(quotas=(quota,)), sent_mb=11, sent_files=10), environment=needs)


def test_an_environment_that_is_built_first_counts_against_the_quotas_and_alone_refuses_nothing() -> None:
    too_much = make_case(40_000_000_000, 21_400)
    [space] = space_is_over_the_quota(too_much)
    [files] = files_are_over_the_quota(too_much)

    assert (space.severity, files.severity) == (Severity.WARNING, Severity.WARNING)
    assert space.message == (
        "scratch holds 2.0 GB of 20.0 GB; 0.0 GB are to be sent, "
        "and the environment that is built first needs about 40.0 GB"
    )
    assert files.message.endswith("10 are to be sent, and the environment that is built first needs about 21400 files")
    assert not list(space_is_over_the_quota(make_case(1_000_000_000, 0)))
    [full] = space_is_over_the_quota(make_case(1_000_000_000, 0, used_bytes=20_000_000_000))
    assert full.severity is Severity.ERROR  # it is full without
