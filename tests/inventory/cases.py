"""A run at one of the shipped sites, with nothing seen of it but its file, and what the checks say to it."""

from dataclasses import replace
from typing import Any

from tests.builders import SPEC, plan_for
from tests.sites.shipped import load
from windlass.checks import run_checks
from windlass.core.case import Case
from windlass.core.facts import Facts
from windlass.core.finding import Finding, Severity
from windlass.core.run import Resources, RunSpec

NOW = 1_800_000_000.0
ACCOUNT = "prof"
GB = 10**9


def make_case(
    name: str,
    resources: Resources,
    *,
    facts: Facts | None = None,
    spec: RunSpec = SPEC,
    planned: dict[str, Any] | None = None,
    **seen: Any,
) -> Case:
    """`planned` changes the plan into one that Windlass itself would not make."""
    site = load(name)
    facts = facts or Facts(root=site.root.replace("$SCRATCH", "/scratch/alice").replace("$USER", "alice"))
    asked = resources if resources.account else replace(resources, account=ACCOUNT)
    spec = replace(spec, resources=asked)
    plan = plan_for(site=site, facts=facts, spec=spec)
    return Case(spec=spec, plan=replace(plan, **planned or {}), site=site, facts=facts, now=NOW, **seen)


def list_errors(case: Case) -> list[Finding]:
    return [one for one in run_checks(case) if one.severity is Severity.ERROR]


def list_codes(case: Case) -> list[str]:
    return [one.code for one in run_checks(case)]


def find(case: Case, code: str) -> Finding:
    (found,) = [one for one in run_checks(case) if one.code == code]
    return found
