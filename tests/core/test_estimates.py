"""What Slurm is asked about besides the plan, and how past answers are judged."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import HOUR, PLAN, SITE
from windlass.cli.estimate_words import format_estimates
from windlass.core.plan import Plan, RunnerUp
from windlass.core.seen.estimates import (
    AS_PLANNED,
    MOST_QUESTIONS,
    Estimate,
    Estimates,
    Noted,
    Past,
    judge_past,
    make_estimate,
    make_questions,
)
from windlass.core.site import GpuDialect

BIG = replace(PLAN, nodes=8, link_time=24 * HOUR, total_time=24 * HOUR, partition="gpu")
NOTED = Noted(partition="gpu", submitted=1000, asked=1000, expected=4600, started=4600)


def ask_about(plan: Plan) -> dict[str, Plan]:
    return {one.what: one.plan for one in make_questions(plan, SITE)}


def test_cheaper_variants_are_asked_about() -> None:
    asked = ask_about(replace(BIG, runner_up=RunnerUp(partition="cpu", qos="low")))

    assert list(asked) == [
        AS_PLANNED,
        "4 nodes instead of 8",
        "partition cpu, QOS low",
        "3 links of 12 h instead of 1 of 1 d",
        "25 links of 1 h instead of 1 of 1 d",
    ]
    assert asked["4 nodes instead of 8"].nodes == 4
    assert (asked["partition cpu, QOS low"].partition, asked["partition cpu, QOS low"].qos) == ("cpu", "low")
    assert len(asked) <= MOST_QUESTIONS


def test_another_qos_in_the_same_partition_is_named_alone() -> None:
    assert "QOS low" in ask_about(replace(BIG, runner_up=RunnerUp(partition="gpu", qos="low")))


def test_one_node_is_halved_by_its_gpus() -> None:
    plan = replace(
        PLAN, gpus_per_node=4, tasks_per_node=1, cpus_per_task=32, memory_mb=64_000, gpu_dialect=GpuDialect.GRES
    )

    half = ask_about(plan)["2 GPUs instead of 4"]

    assert (half.gpus_per_node, half.cpus_per_task, half.memory_mb) == (2, 16, 32_000)


def test_a_node_that_is_taken_whole_is_not_halved() -> None:
    plan = replace(PLAN, gpus_per_node=4, gpu_dialect=GpuDialect.GRES, exclusive=True)

    assert list(ask_about(plan)) == [AS_PLANNED, "3 links of 30 min instead of 1 of 1 h"]


def test_the_sites_own_limits_are_tried_before_the_half() -> None:
    site = replace(SITE, rules=replace(SITE.rules, time_bins=(3 * HOUR, 12 * HOUR, 24 * HOUR)))

    times = [one.plan.link_time for one in make_questions(replace(BIG, nodes=1, link_time=20 * HOUR), site)]

    assert times == [20 * HOUR, 12 * HOUR, HOUR]


def test_a_short_job_is_not_made_shorter() -> None:
    assert list(ask_about(replace(PLAN, link_time=timedelta(minutes=20), total_time=timedelta(minutes=20)))) == [
        AS_PLANNED
    ]


def test_a_start_in_a_year_is_not_believed() -> None:
    assert make_estimate("x", expected=400 * 86_400, partition=None, asked=0).expected is None


def test_errors_are_counted_from_the_earliest_to_the_latest() -> None:
    early = replace(NOTED, started=3400.0)
    late = replace(NOTED, started=15_400.0)

    assert judge_past([NOTED, early, late], "gpu") == Past(jobs=3, earliest_s=-1200, latest_s=10_800)


@pytest.mark.parametrize(
    "noted",
    [
        replace(NOTED, partition="cpu"),
        replace(NOTED, started=None),
        replace(NOTED, expected=None, asked=None),
        replace(NOTED, started=10.0),  # of an earlier life
    ],
)
def test_what_was_not_expected_or_did_not_come_is_not_counted(noted: Noted) -> None:
    assert judge_past([noted], "gpu") is None


def test_only_the_last_dozen_jobs_count() -> None:
    old = replace(NOTED, submitted=1.0, asked=1.0, started=99_999.0)
    new = [replace(NOTED, submitted=1000.0 + number) for number in range(12)]

    assert judge_past([old, *new], "gpu") == Past(jobs=12, earliest_s=0, latest_s=0)


def test_the_line_tells_age_and_past_errors() -> None:
    chosen = Estimate(what=AS_PLANNED, partition="gpu", asked=1000.0, expected=8000.0)
    fewer = Estimate(what="4 nodes instead of 8", asked=1000.0, expected=1010.0)
    other = Estimate(what="partition cpu", asked=1000.0, refused="the time is too long")
    same = Estimate(what="an hour", asked=1000.0, expected=8000.0)
    past = Past(jobs=12, earliest_s=-1200, latest_s=10_800)

    first, *lines = format_estimates(Estimates(chosen=chosen, variants=(fewer, other, same), past=past), 1020.0)

    assert "(asked 20 s ago; estimates for gpu were off by -20 min / +3 h in your last 12 jobs)" in first
    assert lines == [
        "4 nodes instead of 8: expected to start at once",
        "partition cpu: it would be refused: the time is too long",
        "an hour: no sooner",
    ]


def test_without_a_history_the_line_says_so() -> None:
    chosen = Estimate(what=AS_PLANNED, partition="gpu", asked=1000.0, expected=1000.0)

    (line,) = format_estimates(Estimates(chosen=chosen, variants=(chosen,)), 1000.0)

    assert line == "expected to start at once (asked just now; no past estimates yet)"
