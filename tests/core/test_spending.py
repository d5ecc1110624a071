"""Hours used and left: sums that add up, ends that come, limits of one's own."""

import csv
import io
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import RECORD
from windlass.core.facts import Balance
from windlass.core.jobs import JobState
from windlass.core.record import RunState, Submission
from windlass.core.site import Accounting, CostUnit
from windlass.core.size import Size
from windlass.core.spending.amounts import Amount, NoAmount, format_amount, read_amount
from windlass.core.spending.jobs import JobSpent, count_left_s, count_rate, count_used_s
from windlass.core.spending.limit import OwnLimit
from windlass.core.spending.own import count_allowed_s, count_use, find_span
from windlass.core.spending.periods import find_period_end, find_period_start, format_day
from windlass.core.spending.records import add_later_links, make_jobs
from windlass.core.spending.report import choose_unit, find_end, make_spending
from windlass.core.spending.table import format_csv
from windlass.core.spending.uses import Told, Window

NOW = 1_795_000_000.0  # 18 Nov 2026
HOUR, DAY = 3600.0, 86_400.0
GPUS = Accounting(unit=CostUnit.GPU_HOURS)
JOB = JobSpent(
    job_id="45",
    run_id="digits-k3f9w",
    user="alice",
    account="lab",
    state=JobState.DONE,
    started=NOW - 10 * HOUR,
    ended=NOW - 8 * HOUR,
    elapsed_s=2 * HOUR,
    limit_s=4 * HOUR,
    size=Size(nodes=1, cores=12, gpus=4, billing=20),
)
RUNNING = replace(JOB, job_id="46", state=JobState.RUNNING, started=NOW - HOUR, ended=None, elapsed_s=HOUR)
WAITING = replace(JOB, job_id="47_[2-4%1]", state=JobState.WAITING, started=None, ended=None, elapsed_s=0, tasks=3)
WINDOW = Window(since=NOW - 30 * DAY, now=NOW, days=7)
BALANCE = Balance(account="lab", unit="gpu-hours", limit=100, used=30, source="sshare")

moments = st.floats(min_value=NOW - 90 * DAY, max_value=NOW)
jobs = st.builds(
    lambda start, length, share, state, gpus: replace(
        JOB,
        state=state,
        started=start,
        ended=start + length,
        elapsed_s=length * share,
        size=replace(JOB.size, gpus=gpus),
    ),
    moments,
    st.floats(min_value=1, max_value=20 * DAY),
    st.floats(min_value=0.1, max_value=1),  # the rest of the time it was suspended
    st.sampled_from([JobState.DONE, JobState.RUNNING, JobState.REQUEUED, JobState.FAILED]),
    st.integers(min_value=0, max_value=64),
)


@given(jobs, moments, moments, moments)
def test_what_a_job_used_adds_up_over_any_cuts_of_time(job: JobSpent, one: float, two: float, three: float) -> None:
    cuts = sorted((NOW - 200 * DAY, one, two, three, NOW + 200 * DAY))

    parts = [count_used_s(job, since=a, until=b) for a, b in itertools.pairwise(cuts)]

    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(job.elapsed_s, rel=1e-6)


@given(st.lists(jobs, max_size=8))
def test_the_runs_together_used_what_all_jobs_used(many: list[JobSpent]) -> None:
    many = [replace(job, run_id=f"run-{place % 3}" if place % 4 else None) for place, job in enumerate(many)]

    spending = make_spending("alpha", GPUS, Told(jobs=tuple(many)), WINDOW)

    assert sum(one.used for one in spending.runs) == pytest.approx(spending.used)
    assert spending.used == pytest.approx(spending.gpu_hours)
    assert [one.used for one in spending.runs if one.run_id] == sorted(
        (one.used for one in spending.runs if one.run_id), reverse=True
    )


def test_what_runs_and_waits_may_still_use_its_limits() -> None:
    assert count_left_s(JOB) == 0
    assert count_left_s(RUNNING) == 3 * HOUR
    assert count_left_s(WAITING) == 3 * 4 * HOUR
    assert count_left_s(replace(RUNNING, elapsed_s=9 * HOUR)) == 0
    assert count_left_s(replace(RUNNING, limit_s=None)) is None


def test_starts_that_are_still_to_come_of_a_job_count_too() -> None:
    chain = replace(RECORD, links=4, link=2, submissions=(Submission(number=1, token="t", job_id="46", links=4),))

    running, waiting = add_later_links([RUNNING, replace(RUNNING, state=JobState.WAITING)], [chain])

    assert (running.later_links, waiting.later_links) == (2, 1)
    assert count_left_s(running) == 3 * HOUR + 2 * 4 * HOUR
    assert add_later_links([WAITING], [chain]) == (WAITING,)  # an array shows what waits itself


def test_an_account_tells_burn_end_and_what_is_left_when_all_that_is_queued_ends() -> None:
    told = Told(jobs=(JOB, RUNNING, WAITING), balances=(BALANCE,), recent={("lab", "gpu-hours"): 70.0})

    (lab,) = make_spending("alpha", GPUS, told, WINDOW).accounts

    assert (lab.left, lab.burn_per_day, lab.burn_of_all) == (70, 10, True)
    assert lab.ends == NOW + 7 * DAY
    assert lab.still == 4 * (3 + 12)
    assert lab.left_then == 10


def test_an_account_with_two_limits_shows_both() -> None:
    cores = replace(BALANCE, unit="core-hours", limit=1000)
    told = Told(jobs=(RUNNING,), balances=(BALANCE, cores, replace(BALANCE, unit="fs-hours")))

    both = make_spending("alpha", Accounting(unit=CostUnit.UNKNOWN), told, WINDOW).accounts

    assert [(one.unit, one.limit, one.still) for one in both] == [("gpu-hours", 100, 12), ("core-hours", 1000, 36)]


def test_without_sreport_the_burn_is_that_of_ones_own_jobs() -> None:
    (lab,) = make_spending("alpha", GPUS, Told(jobs=(JOB, RUNNING), balances=(BALANCE,)), WINDOW).accounts

    assert not lab.burn_of_all
    assert lab.burn_per_day == pytest.approx(4 * 3 / 7)


@given(st.floats(min_value=-10, max_value=1e6), st.floats(min_value=0, max_value=1e4))
def test_an_end_is_never_in_the_past_nor_for_what_does_not_burn(left: float, burn: float) -> None:
    end = find_end(left, burn, NOW)

    assert end is None or end >= NOW
    assert burn > 0 or end is None


def test_the_share_of_idle_gpus_is_weighed_by_gpu_hours() -> None:
    other = replace(JOB, run_id="other-aaaaa", size=replace(JOB.size, gpus=12))

    told = Told(jobs=(JOB, other, replace(JOB, run_id=None)))
    spending = make_spending("alpha", GPUS, told, WINDOW, wasted={"digits-k3f9w": 0.8, "other-aaaaa": 0.0})

    assert spending.wasted == pytest.approx(0.2)
    assert make_spending("alpha", GPUS, told, WINDOW).wasted is None


@pytest.mark.parametrize(
    ("accounting", "balances", "unit"),
    [
        (CostUnit.NODE_HOURS, (), "node-hours"),
        (CostUnit.UNKNOWN, (replace(BALANCE, unit="billing-hours"),), "billing-hours"),
        (CostUnit.UNKNOWN, (replace(BALANCE, unit="fs-hours"),), "gpu-hours"),
        (CostUnit.NONE, (), "gpu-hours"),
    ],
)
def test_hours_are_counted_as_the_site_does(accounting: CostUnit, balances: tuple[Balance, ...], unit: str) -> None:
    assert choose_unit(Accounting(unit=accounting), balances, [JOB]) == unit
    assert (
        choose_unit(Accounting(unit=CostUnit.NONE), (), [replace(JOB, size=replace(JOB.size, gpus=0))]) == "core-hours"
    )


def test_a_node_may_cost_more_cores_than_it_has() -> None:
    daily = Accounting(unit=CostUnit.CORE_HOURS, charged_cores_per_node=48)

    assert count_rate(JOB.size, "core-hours", daily) == 48
    assert count_rate(JOB.size, "gpu-hours", daily) == 4
    assert count_rate(replace(JOB.size, billing=0), "billing-hours", daily) is None
    assert count_rate(JOB.size, "none", daily) is None


def test_the_table_can_be_read_again_and_holds_no_formula() -> None:
    told = Told(jobs=(replace(JOB, run_id="=1+1-aaaaa"), RUNNING), balances=(BALANCE,), people={"lab": {"@bob": 3.0}})

    rows = list(csv.DictReader(io.StringIO(format_csv(make_spending("alpha", GPUS, told, WINDOW)))))

    assert [row["kind"] for row in rows] == ["account", "run", "run", "person"]
    assert (rows[0]["used"], rows[0]["left"], rows[0]["still_at_most"]) == ("30", "70", "12")
    assert [row["name"] for row in rows[1:]] == ["'=1+1-aaaaa", "digits-k3f9w", "'@bob"]


@pytest.mark.parametrize(
    ("text", "hours", "unit"),
    [
        ("200 GPU-h", 200, "gpu-hours"),
        ("1,500 core-hours", 1500, "core-hours"),
        ("12.5 node-h", 12.5, "node-hours"),
        ("3 CPU hours", 3, "core-hours"),
        ("7billing-h", 7, "billing-hours"),
    ],
)
def test_amounts_are_read(text: str, hours: float, unit: str) -> None:
    assert read_amount(text) == Amount(hours=hours, unit=unit)


@pytest.mark.parametrize("text", ["", "200", "200h", "GPU-h", "0 GPU-h", "1e9 GPU-h", "-3 core-h", "3 tpu-h", "²GPU-h"])
def test_what_is_no_amount_is_refused_with_advice(text: str) -> None:
    with pytest.raises(NoAmount):
        read_amount(text)


@given(st.floats(min_value=0.01, max_value=1e9), st.sampled_from(["gpu-hours", "core-hours", "node-hours"]))
def test_an_amount_is_shown_so_that_it_can_be_read_again(hours: float, unit: str) -> None:
    again = read_amount(format_amount(hours, unit))

    assert again.unit == unit
    assert again.hours == pytest.approx(hours, rel=0.06)


def test_periods_begin_and_end_on_first_days() -> None:
    assert format_day(find_period_start("quarter", NOW) or 0) == "2026-10-01"
    assert [format_day(find_period_end(one, NOW)) for one in ("month", "quarter", "year")] == [
        "2026-12-01",
        "2027-01-01",
        "2027-01-01",
    ]
    assert find_period_start("fortnight", NOW) is None


MONTH = OwnLimit(scope="month", hours=100, unit="gpu-hours")


def test_a_limit_of_a_month_counts_the_runs_of_a_name_and_of_this_month() -> None:
    old = replace(JOB, started=NOW - 40 * DAY, ended=NOW - 40 * DAY + 2 * HOUR)
    other = replace(JOB, run_id="letters-aaaaa")

    use = count_use(MONTH, [JOB, RUNNING, WAITING, old, other], name="Digits", accounting=GPUS, now=NOW)

    assert use is not None
    assert (use.used, use.still) == (4 * 3, 4 * (3 + 12))
    assert not use.is_used_up


def test_a_limit_of_a_site_counts_every_job_in_its_accounting_period() -> None:
    limit = OwnLimit(scope="site", hours=10, unit="gpu-hours")
    quarter = replace(GPUS, period="quarter")

    use = count_use(limit, [JOB, replace(JOB, run_id=None)], name="x", accounting=quarter, now=NOW)

    assert use is not None
    assert (use.used, use.is_used_up, format_day(use.since)) == (16, True, "2026-10-01")
    assert use.words == "budget.site of 10 GPU-h is used up (16 GPU-h)"
    assert find_span(limit, None, NOW) == find_span(MONTH, "year", NOW)


def test_what_cannot_be_counted_is_not_guessed() -> None:
    billing = OwnLimit(scope="site", hours=10, unit="billing-hours")
    plain = replace(JOB, size=replace(JOB.size, billing=0))

    assert count_use(billing, [plain], name="x", accounting=GPUS, now=NOW) is None
    assert (
        count_use(replace(MONTH), [replace(WAITING, limit_s=None)], name="digits", accounting=GPUS, now=NOW) is not None
    )


def test_a_runs_own_limit_is_so_many_seconds_of_its_jobs() -> None:
    limit = OwnLimit(scope="run", hours=10, unit="gpu-hours")

    assert count_allowed_s([limit, MONTH], JOB.size, GPUS) == 2.5 * HOUR
    assert count_allowed_s([limit], replace(JOB.size, gpus=0), GPUS) is None
    assert count_allowed_s([MONTH], JOB.size, GPUS) is None


def test_without_accounting_the_laptops_own_records_tell() -> None:
    record = replace(
        RECORD, state=RunState.RUNNING, size=JOB.size, spent_s=2 * HOUR, started=NOW - DAY, link=1, links=3, link_s=HOUR
    )

    done, waiting = make_jobs([record, replace(RECORD, size=None)], NOW)

    assert count_used_s(done, since=0, until=NOW) == pytest.approx(2 * HOUR)
    assert (waiting.tasks, count_left_s(waiting)) == (2, 2 * HOUR)
    assert make_jobs([replace(record, state=RunState.NOT_SUBMITTED)], NOW) == ()


def test_pilots_are_listed_with_the_farm_that_they_work_on() -> None:
    pilot = replace(JOB, job_id="48", run_id="pilot-1")

    told = make_spending("s", GPUS, Told(jobs=(JOB, pilot)), WINDOW, farms={"pilot-1": "digits-k3f9w"})

    (shown,) = told.runs
    assert (shown.run_id, shown.jobs, shown.used) == ("digits-k3f9w", 2, told.used)
