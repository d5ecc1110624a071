"""Expected starts, asked of pocket and of a real Slurm, and compared with what came."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.conftest import ENGINES
from windlass.app.estimating import estimate_run, estimate_variants
from windlass.app.following import wait
from windlass.app.planning import Planned, Wanted, plan_run
from windlass.app.refreshing import refresh_site
from windlass.app.running import start_run
from windlass.app.session import Session
from windlass.core.record import RunState
from windlass.core.seen.estimates import AS_PLANNED, MOST_QUESTIONS
from windlass.core.toml.layers import Flag

pytestmark = pytest.mark.parametrize("session", [ENGINES[0], ENGINES[2]], indirect=True)

RUN_FILE = '[run]\nname = "early"\ncommand = "sleep {seconds}"\n[resources]\ntime = "2h"\ncpus = {cpus}\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def plan(session: Session, project: Path, site_name: str, *, seconds: int = 0, cpus: int = 1, **more: str) -> Planned:
    (project / "windlass.toml").write_text(RUN_FILE.format(seconds=seconds, cpus=cpus))
    flags = tuple(Flag(key=f"resources.{name}", value=value) for name, value in more.items())
    return plan_run(session, Wanted(project=project, site=site_name, flags=flags))


def test_all_variants_are_asked_in_one_round_trip_and_then_kept(
    session: Session, project: Path, site_name: str
) -> None:
    planned = plan(session, project, site_name)
    host = session.host(planned.site)
    before = host.round_trips

    first = estimate_variants(session, planned.site, planned.plan)
    again = estimate_variants(session, planned.site, planned.plan)

    assert host.round_trips == before + 1
    assert again == first
    assert first.chosen.what == AS_PLANNED
    assert first.chosen.expected is not None
    assert first.past is None
    assert any("links of 1 h" in one.what for one in first.variants)
    assert 1 <= len(first.variants) < MOST_QUESTIONS


def test_a_new_plan_of_the_same_size_is_not_asked_about_again(session: Session, project: Path, site_name: str) -> None:
    one, other = plan(session, project, site_name), plan(session, project, site_name)
    first = estimate_variants(session, one.site, one.plan)

    again = estimate_variants(session, other.site, other.plan)

    assert one.plan.run_id != other.plan.run_id
    assert again == first


def test_a_plan_that_slurm_would_refuse_is_told_with_its_words(session: Session, project: Path, site_name: str) -> None:
    planned = plan(session, project, site_name)

    estimates = estimate_variants(session, planned.site, replace(planned.plan, cpus_per_task=4000))

    assert estimates.chosen.refused is not None
    assert estimates.chosen.expected is None


def test_what_was_expected_is_compared_with_what_came(session: Session, project: Path, site_name: str) -> None:
    planned = plan(session, project, site_name)
    estimate_variants(session, planned.site, planned.plan)

    wait(session, start_run(session, planned))

    past = estimate_variants(session, planned.site, planned.plan).past
    assert past is not None
    assert past.jobs == 1
    assert past.earliest_s == past.latest_s


def test_a_run_that_waits_is_compared_with_cheaper_ones(session: Session, project: Path, site_name: str) -> None:
    cpus = 4 if site_name == "here" else 8
    partition = {} if site_name == "here" else {"partition": "cpu", "nodes": "2"}
    first = start_run(session, plan(session, project, site_name, seconds=600, cpus=cpus, **partition))
    waits = start_run(session, plan(session, project, site_name, seconds=600, cpus=cpus, **partition))
    deadline = time.monotonic() + 60
    while waits.expected_start is None and time.monotonic() < deadline:
        waits = refresh_site(session, site_name, [waits])[0]

    estimates = estimate_run(session, waits)

    assert waits.state is RunState.WAITING
    assert estimates is not None
    assert estimates.chosen.source == "squeue"
    assert estimates.chosen.expected == waits.expected_start
    assert estimates.chosen.expected is not None
    assert estimates.chosen.expected > session.clock() + 60
    assert estimates.variants
    assert estimate_run(session, refresh_site(session, site_name, [first])[0]) is None
